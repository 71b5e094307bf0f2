-- The page's files of the versions that ran here last, so that a page finds those of its own version on every server.

CREATE TABLE IF NOT EXISTS page_versions (
    -- The folder in which the page asks for them, named after their content.
    folder VARCHAR(64) NOT NULL PRIMARY KEY,
    -- When a server of this version was last started.
    started_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS page_files (
    folder VARCHAR(64) NOT NULL,
    -- With the end that names its compression, if it is compressed.
    name VARCHAR(128) NOT NULL,
    media_type VARCHAR(100) NOT NULL,
    -- What tells it from every other content, as in the header ETag.
    tag VARCHAR(64) NOT NULL,
    PRIMARY KEY (folder, name),
    CONSTRAINT page_files_version_fk FOREIGN KEY (folder) REFERENCES page_versions (folder) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- In parts, each of which fits into one statement of every server.
CREATE TABLE IF NOT EXISTS page_file_parts (
    folder VARCHAR(64) NOT NULL,
    name VARCHAR(128) NOT NULL,
    part INT NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (folder, name, part),
    CONSTRAINT page_file_parts_file_fk FOREIGN KEY (folder, name) REFERENCES page_files (folder, name) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
