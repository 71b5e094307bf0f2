-- The last entry of `audit_log` whose notice the user has acknowledged. Entries from before this column are not announced.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'seen_look_id');

SET @change = IF(@is_missing, 'ALTER TABLE users ADD COLUMN seen_look_id BIGINT NOT NULL DEFAULT 0', 'DO 0');

PREPARE change_users FROM @change;

EXECUTE change_users;

DEALLOCATE PREPARE change_users;

UPDATE users SET seen_look_id = (SELECT COALESCE(MAX(id), 0) FROM audit_log);
