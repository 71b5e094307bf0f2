-- When a key ends by itself.
ALTER TABLE api_keys ADD COLUMN expires_at TEXT NULL;
-- What a name looks like (its skeleton by UTS 39), so that no two accounts look alike.
ALTER TABLE users ADD COLUMN name_skeleton TEXT NULL;
CREATE INDEX users_name_skeleton ON users (name_skeleton);
