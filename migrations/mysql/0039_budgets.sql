-- Tokens or money that models may use within a day or a month.

CREATE TABLE IF NOT EXISTS budgets (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Whose usage counts: user:ID, or all.
    principal VARCHAR(40) NOT NULL,
    period VARCHAR(10) NOT NULL
        CHECK (period IN ('day', 'month')),
    tokens BIGINT NULL,
    cost_nanos BIGINT NULL,
    warn_at DOUBLE NOT NULL,
    -- Incremented by transactions that check the budget, so that only one of them does at a time.
    checks BIGINT NOT NULL DEFAULT 0,
    UNIQUE KEY budgets_principal (principal, period)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The money that a model call in progress reserves.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'model_requests' AND COLUMN_NAME = 'reserved_cost_nanos');

SET @change = IF(@is_missing,
    'ALTER TABLE model_requests ADD COLUMN reserved_cost_nanos BIGINT NOT NULL DEFAULT 0', 'DO 0');

PREPARE change_model_requests FROM @change;

EXECUTE change_model_requests;

DEALLOCATE PREPARE change_model_requests;
