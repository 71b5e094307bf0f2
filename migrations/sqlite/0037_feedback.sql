-- Users' feedback on answers.
CREATE TABLE feedback (
    message_id INTEGER NOT NULL PRIMARY KEY,
    rating TEXT NOT NULL
        CHECK (rating IN ('up', 'down')),
    reason TEXT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX feedback_by_rating ON feedback (rating, message_id);
CREATE INDEX feedback_by_time ON feedback (updated_at, message_id, rating);
