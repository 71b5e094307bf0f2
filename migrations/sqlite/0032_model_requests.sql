-- Requests that make model calls outside of answers, for the limit per minute; and tokens that running answers and such
-- requests reserve, for the limit per day.
CREATE TABLE model_requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    -- The running answer that the tokens are reserved for; null for a request outside of answers.
    message_id INTEGER NULL UNIQUE,
    -- What the request counts for against the limit per minute, in quarters of a message; 0 for answers, which are counted by
    -- their events.
    quarters INTEGER NOT NULL,
    -- Tokens of the model call that runs or comes next; 0 once the request has ended.
    reserved_tokens INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    -- When the row no longer counts, also if its server has crashed.
    expires_at TEXT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX model_requests_user ON model_requests (user_id, expires_at);
CREATE INDEX model_requests_by_time ON model_requests (expires_at);
