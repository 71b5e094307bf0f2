-- Requests that make model calls outside of answers, for the limit per minute; and tokens that running answers and such
-- requests reserve, for the limit per day.
CREATE TABLE IF NOT EXISTS model_requests (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    -- The running answer that the tokens are reserved for; null for a request outside of answers.
    message_id BIGINT NULL,
    -- What the request counts for against the limit per minute, in quarters of a message; 0 for answers, which are counted by
    -- their events.
    quarters BIGINT NOT NULL,
    -- Tokens of the model call that runs or comes next; 0 once the request has ended.
    reserved_tokens BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    -- When the row no longer counts, also if its server has crashed.
    expires_at DATETIME(6) NOT NULL,
    UNIQUE KEY model_requests_message (message_id),
    KEY model_requests_user (user_id, expires_at),
    KEY model_requests_by_time (expires_at),
    CONSTRAINT model_requests_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT model_requests_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
