-- Settings that admins change in the page, besides those of the settings file and the environment.

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    -- The value as JSON.
    value TEXT NOT NULL
);

-- One row for each change. The ID of the latest row is the version of the settings.
CREATE TABLE settings_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- ID of the admin. Refers to no row, because the history outlasts accounts.
    changed_by INTEGER NOT NULL,
    -- The changed settings by their names, as JSON objects. null is the default.
    before_change TEXT NOT NULL,
    after_change TEXT NOT NULL,
    -- All rows of settings after the change, as a JSON object.
    settings TEXT NOT NULL,
    created_at TEXT NOT NULL
);
