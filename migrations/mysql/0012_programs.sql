-- Programs that use the agent as a model: where a conversation comes from, which one a program means by an id of its own,
-- and what it told a turn in place of the stored history.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'origin');

SET @change = IF(@is_missing, 'ALTER TABLE conversations
    ADD COLUMN origin ENUM(''page'', ''api'') NOT NULL DEFAULT ''page''', 'DO 0');

PREPARE change_conversations_origin FROM @change;

EXECUTE change_conversations_origin;

DEALLOCATE PREPARE change_conversations_origin;

CREATE TABLE IF NOT EXISTS program_conversations (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    -- The key that the program showed; 0 where it showed none.
    key_id BIGINT NOT NULL,
    -- What the program calls it.
    chat_id VARCHAR(200) NOT NULL,
    conversation_id BIGINT NOT NULL,
    UNIQUE KEY program_conversations_chat (user_id, key_id, chat_id),
    KEY program_conversations_conversation (conversation_id),
    CONSTRAINT program_conversations_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT program_conversations_conversation_fk FOREIGN KEY (conversation_id) REFERENCES conversations (id)
        ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Kept until the turn is complete, so that one that goes on is told the same.
CREATE TABLE IF NOT EXISTS turn_inputs (
    message_id BIGINT NOT NULL PRIMARY KEY,
    -- JSON: the messages, the system texts, and how to write.
    input LONGTEXT NOT NULL,
    CONSTRAINT turn_inputs_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
