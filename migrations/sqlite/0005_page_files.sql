-- The page's files of the versions that ran here last, so that a page finds those of its own version on every server.

CREATE TABLE page_versions (
    -- The folder in which the page asks for them, named after their content.
    folder TEXT NOT NULL PRIMARY KEY,
    -- When a server of this version was last started.
    started_at TEXT NOT NULL
);

CREATE TABLE page_files (
    folder TEXT NOT NULL,
    -- With the end that names its compression, if it is compressed.
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    -- What tells it from every other content, as in the header ETag.
    tag TEXT NOT NULL,
    PRIMARY KEY (folder, name),
    FOREIGN KEY (folder) REFERENCES page_versions (folder) ON DELETE CASCADE
);

-- In parts, each of which fits into one statement of every server.
CREATE TABLE page_file_parts (
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (folder, name, part),
    FOREIGN KEY (folder, name) REFERENCES page_files (folder, name) ON DELETE CASCADE
);
