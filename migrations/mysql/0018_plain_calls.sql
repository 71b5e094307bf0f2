-- Models that programs asked once, outside of every conversation. What was asked and answered is kept nowhere.
CREATE TABLE IF NOT EXISTS plain_calls (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    provider VARCHAR(64) NOT NULL,
    model VARCHAR(190) NOT NULL,
    -- Absent when the model failed, or the program went away first.
    stop_reason VARCHAR(64) NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost_nanos BIGINT NULL,
    duration_ms BIGINT NOT NULL,
    error VARCHAR(64) NULL,
    created_at DATETIME(6) NOT NULL,
    KEY plain_calls_user (user_id, created_at),
    CONSTRAINT plain_calls_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
