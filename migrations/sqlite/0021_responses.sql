-- Answers that a program can go on from by their ids, with what it told each of them beside what it went on from.
CREATE TABLE responses (
    message_id INTEGER NOT NULL PRIMARY KEY,
    -- The key that the program showed; 0 where it showed none.
    key_id INTEGER NOT NULL,
    -- The answer that it went on from, which may be gone.
    previous_id INTEGER NULL,
    -- JSON: the messages and the system texts.
    input TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX responses_created ON responses (created_at);
