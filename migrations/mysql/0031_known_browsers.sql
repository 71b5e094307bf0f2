-- Browsers in which a user signed in before. Failures elsewhere do not delay their sign-ins.
CREATE TABLE IF NOT EXISTS known_browsers (
    -- SHA-256 of what the browser's cookie holds, in hex.
    token_hash CHAR(64) NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    last_seen_at DATETIME(6) NOT NULL,
    KEY known_browsers_user (user_id, last_seen_at),
    KEY known_browsers_by_time (last_seen_at),
    CONSTRAINT known_browsers_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
