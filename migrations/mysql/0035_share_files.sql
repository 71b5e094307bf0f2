-- Whether a link also shows the files of its messages.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'shares' AND COLUMN_NAME = 'has_files');

SET @change = IF(@is_missing, 'ALTER TABLE shares ADD COLUMN has_files BOOLEAN NOT NULL DEFAULT FALSE', 'DO 0');

PREPARE change_shares FROM @change;

EXECUTE change_shares;

DEALLOCATE PREPARE change_shares;
