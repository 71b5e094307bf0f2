-- What models made of conversations so far, and what an answer's model was told in place of the whole.
CREATE TABLE IF NOT EXISTS conversation_summaries (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    conversation_id BIGINT NOT NULL,
    -- The answer that it covers, with all that was said on the way to it; there is one summary of that.
    message_id BIGINT NOT NULL,
    summary TEXT NOT NULL,
    -- The catalog's name of the model that wrote it.
    model VARCHAR(190) NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY conversation_summaries_message (message_id),
    KEY conversation_summaries_conversation (conversation_id, message_id),
    CONSTRAINT conversation_summaries_conversation_fk FOREIGN KEY (conversation_id) REFERENCES conversations (id)
        ON DELETE CASCADE,
    CONSTRAINT conversation_summaries_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The first message that an answer's model was told whole, where it was not told all of them, and the summary that it was told
-- in place of those before.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'told_from');

SET @change = IF(@is_missing, 'ALTER TABLE messages
    ADD COLUMN told_from BIGINT NULL,
    ADD COLUMN summary_id BIGINT NULL', 'DO 0');

PREPARE change_messages FROM @change;

EXECUTE change_messages;

DEALLOCATE PREPARE change_messages;

-- Until when somebody sums the conversation up, who is the only one by then.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'summary_until');

SET @change = IF(@is_missing, 'ALTER TABLE conversations ADD COLUMN summary_until DATETIME(6) NULL', 'DO 0');

PREPARE change_conversations_memory FROM @change;

EXECUTE change_conversations_memory;

DEALLOCATE PREPARE change_conversations_memory;
