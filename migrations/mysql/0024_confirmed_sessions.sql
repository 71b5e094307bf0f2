-- When whoever uses a session last proved to be its owner, to do what a session alone may not.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sessions' AND COLUMN_NAME = 'confirmed_at');

SET @change = IF(@is_missing, 'ALTER TABLE sessions ADD COLUMN confirmed_at DATETIME(6) NULL', 'DO 0');

PREPARE change_sessions FROM @change;

EXECUTE change_sessions;

DEALLOCATE PREPARE change_sessions;
