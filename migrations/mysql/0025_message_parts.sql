-- The parts of what a person sent, as JSON, where there are several; one part is the content.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'parts');

SET @change = IF(@is_missing, 'ALTER TABLE messages ADD COLUMN parts MEDIUMTEXT NULL', 'DO 0');

PREPARE change_messages_parts FROM @change;

EXECUTE change_messages_parts;

DEALLOCATE PREPARE change_messages_parts;
