-- Accounts: who may sign in, by what, and what was done to whom. The row of the one local owner becomes the first admin's.
-- `users.generation` counts what changed a user's rights; an open stream ends when it is not what it was.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'deactivated_at');

SET @change = IF(@is_missing, 'ALTER TABLE users ADD COLUMN deactivated_at DATETIME(6) NULL', 'DO 0');

PREPARE change_users_deactivated_at FROM @change;

EXECUTE change_users_deactivated_at;

DEALLOCATE PREPARE change_users_deactivated_at;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'generation');

SET @change = IF(@is_missing, 'ALTER TABLE users ADD COLUMN generation INT NOT NULL DEFAULT 0', 'DO 0');

PREPARE change_users_generation FROM @change;

EXECUTE change_users_generation;

DEALLOCATE PREPARE change_users_generation;

-- By these the list of one's sessions tells them apart.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sessions' AND COLUMN_NAME = 'last_seen_at');

SET @change = IF(@is_missing, 'ALTER TABLE sessions ADD COLUMN last_seen_at DATETIME(6) NULL', 'DO 0');

PREPARE change_sessions_last_seen_at FROM @change;

EXECUTE change_sessions_last_seen_at;

DEALLOCATE PREPARE change_sessions_last_seen_at;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sessions' AND COLUMN_NAME = 'user_agent');

SET @change = IF(@is_missing, 'ALTER TABLE sessions ADD COLUMN user_agent VARCHAR(200) NOT NULL DEFAULT ''''', 'DO 0');

PREPARE change_sessions_user_agent FROM @change;

EXECUTE change_sessions_user_agent;

DEALLOCATE PREPARE change_sessions_user_agent;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sessions' AND COLUMN_NAME = 'address');

SET @change = IF(@is_missing, 'ALTER TABLE sessions ADD COLUMN address VARCHAR(45) NOT NULL DEFAULT ''''', 'DO 0');

PREPARE change_sessions_address FROM @change;

EXECUTE change_sessions_address;

DEALLOCATE PREPARE change_sessions_address;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sessions' AND INDEX_NAME = 'sessions_expiry');

SET @change = IF(@is_missing, 'CREATE INDEX sessions_expiry ON sessions (expires_at)', 'DO 0');

PREPARE index_sessions FROM @change;

EXECUTE index_sessions;

DEALLOCATE PREPARE index_sessions;

CREATE TABLE IF NOT EXISTS api_keys (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    -- SHA-256 of the key, in hex.
    hash CHAR(64) NOT NULL,
    -- How the key begins, by which its owner knows it again.
    prefix VARCHAR(16) NOT NULL,
    name VARCHAR(100) NOT NULL,
    created_at DATETIME(6) NOT NULL,
    last_used_at DATETIME(6) NULL,
    revoked_at DATETIME(6) NULL,
    UNIQUE KEY api_keys_hash (hash),
    KEY api_keys_user (user_id),
    CONSTRAINT api_keys_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Links that make an account, each once. Without `created_by` it is the server's own, which makes the first admin.
CREATE TABLE IF NOT EXISTS invitations (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    token_hash CHAR(64) NOT NULL,
    role ENUM('user', 'admin') NOT NULL,
    created_by BIGINT NULL,
    created_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6) NOT NULL,
    used_at DATETIME(6) NULL,
    UNIQUE KEY invitations_token_hash (token_hash),
    KEY invitations_expiry (expires_at),
    CONSTRAINT invitations_user_fk FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- How often a name or an address failed to sign in. Whose it is stands here as SHA-256, in hex.
CREATE TABLE IF NOT EXISTS sign_in_attempts (
    subject CHAR(64) NOT NULL PRIMARY KEY,
    failures INT NOT NULL,
    blocked_until DATETIME(6) NULL,
    updated_at DATETIME(6) NOT NULL,
    KEY sign_in_attempts_by_time (updated_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What was done to whom. Refers to no row, since it outlasts what it tells of.
CREATE TABLE IF NOT EXISTS audit_log (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Who did it. Null for the operator's command line and for links of the server's own.
    actor_id BIGINT NULL,
    -- To whom.
    user_id BIGINT NOT NULL,
    action VARCHAR(64) NOT NULL,
    -- What it was done with: a key's prefix, a role.
    subject VARCHAR(200) NOT NULL,
    reason TEXT NULL,
    created_at DATETIME(6) NOT NULL,
    KEY audit_log_user (user_id, id),
    KEY audit_log_by_time (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
