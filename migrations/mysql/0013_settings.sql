-- What a person tells every model, and when a person deleted the account, which nobody takes back.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'instructions');

SET @change = IF(@is_missing, 'ALTER TABLE users
    ADD COLUMN instructions TEXT NULL,
    ADD COLUMN deleted_at DATETIME(6) NULL', 'DO 0');

PREPARE change_users FROM @change;

EXECUTE change_users;

DEALLOCATE PREPARE change_users;
