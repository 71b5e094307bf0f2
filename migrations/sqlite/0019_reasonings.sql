-- What models showed of their thinking while they answered, a row a step. It is for people to read: what a provider wants
-- back stands in the step's blocks.
CREATE TABLE reasonings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    -- Where in the answer's text it stands, in UTF-8 bytes.
    text_offset INTEGER NOT NULL,
    -- How many of the answer's calls come before it.
    calls_before INTEGER NOT NULL,
    words TEXT NOT NULL,
    -- Whether there was more than is kept.
    truncated BOOLEAN NOT NULL,
    -- Null where it was cut off.
    duration_ms INTEGER NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX reasonings_place ON reasonings (message_id, step);
