-- Models and tool servers that admins add in the page, besides those of the settings file.

-- One row. Every change of the catalog increments the version, so that each server of the database notices it.
CREATE TABLE catalog_state (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
);
INSERT INTO catalog_state (id, version) VALUES (1, 0);

CREATE TABLE catalog_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL
        CHECK (kind IN ('model', 'tool_server')),
    name TEXT NOT NULL,
    -- The settings as a JSON object, without secrets.
    settings TEXT NOT NULL,
    -- Version of the catalog in which the entry was last changed.
    version INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (kind, name)
);

-- Secrets of entries, encrypted with AES-256-GCM under a key that is not in the database.
CREATE TABLE sealed (
    entry_id INTEGER NOT NULL,
    -- Name of the setting that has the value.
    field TEXT NOT NULL,
    -- Identifies the key, so that a value of another key is recognized.
    key_id TEXT NOT NULL,
    nonce BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    PRIMARY KEY (entry_id, field),
    FOREIGN KEY (entry_id) REFERENCES catalog_entries (id) ON DELETE CASCADE
);
