-- Whether a file has more text than its pages: the text or the number of pages exceeded the limit.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'files' AND COLUMN_NAME = 'truncated');

SET @change = IF(@is_missing, 'ALTER TABLE files ADD COLUMN truncated BOOLEAN NOT NULL DEFAULT FALSE', 'DO 0');

PREPARE change_files_truncated FROM @change;

EXECUTE change_files_truncated;

DEALLOCATE PREPARE change_files_truncated;
