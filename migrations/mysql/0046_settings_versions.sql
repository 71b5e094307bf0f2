-- Version of the settings after the change, from which the order of the changes follows: the nodes of a cluster do not
-- assign keys in the order of commits. NULL for a change that an earlier version of the program stored during a rolling
-- upgrade; its ID counts instead.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'settings_history' AND COLUMN_NAME = 'version');

SET @change = IF(@is_missing, 'ALTER TABLE settings_history ADD COLUMN version BIGINT NULL', 'DO 0');

PREPARE change_settings_history FROM @change;

EXECUTE change_settings_history;

DEALLOCATE PREPARE change_settings_history;

UPDATE settings_history SET version = id WHERE version IS NULL;
