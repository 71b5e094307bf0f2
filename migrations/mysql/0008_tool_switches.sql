-- Which tools are turned off in a conversation: their names as a JSON list; null where none is.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'disabled_tools');

SET @change = IF(@is_missing, 'ALTER TABLE conversations ADD COLUMN disabled_tools TEXT NULL', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;
