-- Groups of users, and what admins have granted to them.

CREATE TABLE user_groups (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    -- Who sets the members: admins (page), or the identity provider at each sign-in (oidc).
    origin TEXT NOT NULL
        CHECK (origin IN ('page', 'oidc')),
    version INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (origin, name)
);

CREATE TABLE group_members (
    group_id INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id)
);

CREATE INDEX group_members_user ON group_members (user_id);

-- A permission that is granted to no group is open to all users.
CREATE TABLE grants (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    -- model:NAME, tool_server:NAME, make_keys, upload or share.
    permission TEXT NOT NULL,
    UNIQUE (group_id, permission)
);
