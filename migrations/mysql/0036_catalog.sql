-- Models and tool servers that admins add in the page, besides those of the settings file.

-- One row. Every change of the catalog increments the version, so that each server of the database notices it.
CREATE TABLE IF NOT EXISTS catalog_state (
    id INT NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO catalog_state (id, version) VALUES (1, 0);

CREATE TABLE IF NOT EXISTS catalog_entries (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind VARCHAR(20) NOT NULL
        CHECK (kind IN ('model', 'tool_server')),
    name VARCHAR(100) NOT NULL,
    -- The settings as a JSON object, without secrets.
    settings MEDIUMTEXT NOT NULL,
    -- Version of the catalog in which the entry was last changed.
    version BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    UNIQUE KEY catalog_entries_name (kind, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Secrets of entries, encrypted with AES-256-GCM under a key that is not in the database.
CREATE TABLE IF NOT EXISTS sealed (
    entry_id BIGINT NOT NULL,
    -- Name of the setting that has the value.
    field VARCHAR(40) NOT NULL,
    -- Identifies the key, so that a value of another key is recognized.
    key_id CHAR(16) NOT NULL,
    nonce VARBINARY(12) NOT NULL,
    ciphertext MEDIUMBLOB NOT NULL,
    PRIMARY KEY (entry_id, field),
    CONSTRAINT sealed_entry_fk FOREIGN KEY (entry_id) REFERENCES catalog_entries (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
