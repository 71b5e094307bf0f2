-- Accounts: who may sign in, by what, and what was done to whom. The row of the one local owner becomes the first admin's.

ALTER TABLE users ADD COLUMN deactivated_at TEXT NULL;
-- Counts what changed a user's rights; an open stream ends when it is not what it was.
ALTER TABLE users ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sessions ADD COLUMN last_seen_at TEXT NULL;
-- What the list of one's sessions tells them apart by.
ALTER TABLE sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    -- SHA-256 of the key, in hex.
    hash TEXT NOT NULL,
    -- How the key begins, by which its owner knows it again.
    prefix TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT NULL,
    revoked_at TEXT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_user ON api_keys (user_id);

-- Links that make an account, each once. Without `created_by` it is the server's own, which makes the first admin.
CREATE TABLE invitations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash TEXT NOT NULL,
    role TEXT NOT NULL
        CHECK (role IN ('user', 'admin')),
    created_by INTEGER NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    used_at TEXT NULL,
    FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX invitations_token_hash ON invitations (token_hash);
CREATE INDEX invitations_expiry ON invitations (expires_at);

-- How often a name or an address failed to sign in. Whose it is stands here as SHA-256, in hex.
CREATE TABLE sign_in_attempts (
    subject TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    blocked_until TEXT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX sign_in_attempts_by_time ON sign_in_attempts (updated_at);

-- What was done to whom. Refers to no row, since it outlasts what it tells of.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Who did it; null for the operator's command line and for links of the server's own.
    actor_id INTEGER NULL,
    -- To whom.
    user_id INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- What it was done with: a key's prefix, a role.
    subject TEXT NOT NULL,
    reason TEXT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX audit_log_user ON audit_log (user_id, id);
CREATE INDEX audit_log_by_time ON audit_log (created_at);
