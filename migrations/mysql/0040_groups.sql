-- Groups of users, and what admins have granted to them.

CREATE TABLE IF NOT EXISTS user_groups (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    -- Who sets the members: admins (page), or the identity provider at each sign-in (oidc).
    origin VARCHAR(10) NOT NULL
        CHECK (origin IN ('page', 'oidc')),
    version BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY user_groups_name (origin, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS group_members (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    PRIMARY KEY (group_id, user_id),
    KEY group_members_user (user_id),
    CONSTRAINT group_members_group FOREIGN KEY (group_id) REFERENCES user_groups (id) ON DELETE CASCADE,
    CONSTRAINT group_members_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- A permission that is granted to no group is open to all users.
CREATE TABLE IF NOT EXISTS grants (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    group_id BIGINT NOT NULL,
    -- model:NAME, tool_server:NAME, make_keys, upload or share.
    permission VARCHAR(300) NOT NULL,
    UNIQUE KEY grants_permission (group_id, permission),
    CONSTRAINT grants_group FOREIGN KEY (group_id) REFERENCES user_groups (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
