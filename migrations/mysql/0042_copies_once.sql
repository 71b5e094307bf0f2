-- A request for a copy that is sent twice creates one copy, and a truncated text of a copied call stays marked.

-- The ID that a client chose for the copy.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'client_conversation_id');

SET @change = IF(@is_missing, 'ALTER TABLE conversations ADD COLUMN client_conversation_id VARCHAR(64) NULL,
    ADD UNIQUE KEY conversations_client_id (user_id, client_conversation_id)', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;

-- For calls whose texts the share link truncated; the lengths are those of the full texts.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'copied_tool_calls' AND COLUMN_NAME = 'truncated');

SET @change = IF(@is_missing, 'ALTER TABLE copied_tool_calls ADD COLUMN truncated BOOLEAN NOT NULL DEFAULT FALSE,
    ADD COLUMN input_bytes BIGINT NULL, ADD COLUMN output_bytes BIGINT NULL', 'DO 0');

PREPARE change_calls FROM @change;

EXECUTE change_calls;

DEALLOCATE PREPARE change_calls;
