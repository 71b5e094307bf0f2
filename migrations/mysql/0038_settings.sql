-- Settings that admins change in the page, besides those of the settings file and the environment.

CREATE TABLE IF NOT EXISTS settings (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    -- The value as JSON.
    value MEDIUMTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- One row for each change. The ID of the latest row is the version of the settings.
CREATE TABLE IF NOT EXISTS settings_history (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- ID of the admin. Refers to no row, because the history outlasts accounts.
    changed_by BIGINT NOT NULL,
    -- The changed settings by their names, as JSON objects. null is the default.
    before_change MEDIUMTEXT NOT NULL,
    after_change MEDIUMTEXT NOT NULL,
    -- All rows of settings after the change, as a JSON object.
    settings MEDIUMTEXT NOT NULL,
    created_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
