-- Index of the texts of messages and of their tool calls, for the search. It only narrows a search down to messages that
-- can match, so it may name too many of them.

-- `updated_at` of the moment when all messages of the conversation were in the index. If the two differ, some may not be.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'search_indexed_at');

SET @change = IF(@is_missing, 'ALTER TABLE conversations ADD COLUMN search_indexed_at DATETIME(6) NULL', 'DO 0');

PREPARE change_conversations_indexed FROM @change;

EXECUTE change_conversations_indexed;

DEALLOCATE PREPARE change_conversations_indexed;

-- A block has messages of one user. Their texts are cut into columns, and a column can have several short texts.
CREATE TABLE IF NOT EXISTS search_blocks (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    -- Size of its texts.
    bytes BIGINT NOT NULL,
    -- Times of its oldest and its newest message.
    oldest_at DATETIME(6) NOT NULL,
    newest_at DATETIME(6) NOT NULL,
    -- For each message, little-endian: ID (8 bytes), time in microseconds (8), first column (4), last column (4).
    messages MEDIUMBLOB NOT NULL,
    KEY search_blocks_user (user_id, newest_at),
    CONSTRAINT search_blocks_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The block of each message. If a turn was resumed after its message was indexed, the message has a later epoch, and the
-- block contains a former text.
CREATE TABLE IF NOT EXISTS search_messages (
    message_id BIGINT NOT NULL,
    epoch INT NOT NULL,
    block_id BIGINT NOT NULL,
    PRIMARY KEY (message_id, epoch),
    KEY search_messages_block (block_id),
    CONSTRAINT search_messages_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE,
    CONSTRAINT search_messages_block_fk FOREIGN KEY (block_id) REFERENCES search_blocks (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- For each slot, one bit per column: whether a piece of the column's text (up to three characters) hashes to this slot.
CREATE TABLE IF NOT EXISTS search_bits (
    block_id BIGINT NOT NULL,
    slot INT NOT NULL,
    bits VARBINARY(4000) NOT NULL,
    PRIMARY KEY (block_id, slot),
    CONSTRAINT search_bits_block_fk FOREIGN KEY (block_id) REFERENCES search_blocks (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
