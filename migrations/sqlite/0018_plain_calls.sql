-- Models that programs asked once, outside of every conversation. What was asked and answered is kept nowhere.
CREATE TABLE plain_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    -- Absent when the model failed, or the program went away first.
    stop_reason TEXT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NULL,
    duration_ms INTEGER NOT NULL,
    error TEXT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX plain_calls_user ON plain_calls (user_id, created_at);
