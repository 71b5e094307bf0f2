-- Tokens or money that models may use within a day or a month.

CREATE TABLE budgets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Whose usage counts: user:ID, or all.
    principal TEXT NOT NULL,
    period TEXT NOT NULL
        CHECK (period IN ('day', 'month')),
    tokens INTEGER NULL,
    cost_nanos INTEGER NULL,
    warn_at REAL NOT NULL,
    -- Incremented by transactions that check the budget, so that only one of them does at a time.
    checks INTEGER NOT NULL DEFAULT 0,
    UNIQUE (principal, period)
);

-- The money that a model call in progress reserves.
ALTER TABLE model_requests ADD COLUMN reserved_cost_nanos INTEGER NOT NULL DEFAULT 0;
