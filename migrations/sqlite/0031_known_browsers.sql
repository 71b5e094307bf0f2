-- Browsers in which a user signed in before. Failures elsewhere do not delay their sign-ins.
CREATE TABLE known_browsers (
    -- SHA-256 of what the browser's cookie holds, in hex.
    token_hash TEXT NOT NULL PRIMARY KEY,
    user_id INTEGER NOT NULL,
    last_seen_at TEXT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX known_browsers_user ON known_browsers (user_id, last_seen_at);
CREATE INDEX known_browsers_by_time ON known_browsers (last_seen_at);
