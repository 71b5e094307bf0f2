-- When a key ends by itself, and what a name looks like (its skeleton by UTS 39), so that no two accounts look alike.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'api_keys' AND COLUMN_NAME = 'expires_at');

SET @change = IF(@is_missing, 'ALTER TABLE api_keys ADD COLUMN expires_at DATETIME(6) NULL', 'DO 0');

PREPARE change_api_keys FROM @change;

EXECUTE change_api_keys;

DEALLOCATE PREPARE change_api_keys;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'name_skeleton');

SET @change = IF(@is_missing, 'ALTER TABLE users ADD COLUMN name_skeleton VARCHAR(255) NULL', 'DO 0');

PREPARE change_users FROM @change;

EXECUTE change_users;

DEALLOCATE PREPARE change_users;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND INDEX_NAME = 'users_name_skeleton');

SET @change = IF(@is_missing, 'CREATE INDEX users_name_skeleton ON users (name_skeleton)', 'DO 0');

PREPARE index_users FROM @change;

EXECUTE index_users;

DEALLOCATE PREPARE index_users;
