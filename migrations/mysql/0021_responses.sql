-- Answers that a program can go on from by their ids, with what it told each of them beside what it went on from.
CREATE TABLE IF NOT EXISTS responses (
    message_id BIGINT NOT NULL PRIMARY KEY,
    -- The key that the program showed; 0 where it showed none.
    key_id BIGINT NOT NULL,
    -- The answer that it went on from, which may be gone.
    previous_id BIGINT NULL,
    -- JSON: the messages and the system texts.
    input LONGTEXT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    KEY responses_created (created_at),
    CONSTRAINT responses_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
