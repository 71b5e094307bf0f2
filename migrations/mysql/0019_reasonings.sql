-- What models showed of their thinking while they answered, a row a step. It is for people to read: what a provider wants
-- back stands in the step's blocks.
CREATE TABLE IF NOT EXISTS reasonings (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    step BIGINT NOT NULL,
    -- Where in the answer's text it stands, in UTF-8 bytes.
    text_offset BIGINT NOT NULL,
    -- How many of the answer's calls come before it.
    calls_before BIGINT NOT NULL,
    words MEDIUMTEXT NOT NULL,
    -- Whether there was more than is kept.
    truncated BOOLEAN NOT NULL,
    -- Null where it was cut off.
    duration_ms BIGINT NULL,
    UNIQUE KEY reasonings_place (message_id, step),
    CONSTRAINT reasonings_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
