-- Users' feedback on answers.
CREATE TABLE IF NOT EXISTS feedback (
    message_id BIGINT NOT NULL PRIMARY KEY,
    rating VARCHAR(10) NOT NULL
        CHECK (rating IN ('up', 'down')),
    reason VARCHAR(1000) NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    KEY feedback_by_rating (rating, message_id),
    KEY feedback_by_time (updated_at, message_id, rating),
    CONSTRAINT feedback_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
