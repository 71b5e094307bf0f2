-- Which model of the catalog was chosen for a conversation (null: the default) and answered in a turn, by its name there;
-- and what a call of it cost, in billionths of the currency that the settings' prices are in.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'model');

SET @change = IF(@is_missing, 'ALTER TABLE conversations ADD COLUMN model VARCHAR(190) NULL', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'model');

SET @change = IF(@is_missing, 'ALTER TABLE messages ADD COLUMN model VARCHAR(190) NULL', 'DO 0');

PREPARE change_messages FROM @change;

EXECUTE change_messages;

DEALLOCATE PREPARE change_messages;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'model_calls' AND COLUMN_NAME = 'cost_nanos');

SET @change = IF(@is_missing, 'ALTER TABLE model_calls ADD COLUMN cost_nanos BIGINT NULL', 'DO 0');

PREPARE change_model_calls FROM @change;

EXECUTE change_model_calls;

DEALLOCATE PREPARE change_model_calls;
