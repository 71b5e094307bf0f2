-- Files that users upload and tools return. The content is stored once per SHA-256 hash.

CREATE TABLE blobs (
    -- SHA-256 hash of the content, in hex.
    sha256 TEXT NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    -- `database` if the content is in `blob_chunks`; otherwise the path of the object in the store of FILES_URL.
    storage TEXT NOT NULL,
    -- Null until the content is complete.
    stored_at TEXT NULL,
    -- When a file last began to refer to the content, or an upload last wrote it. Content without files is kept for a day.
    used_at TEXT NOT NULL
);
CREATE INDEX blobs_used ON blobs (used_at);

-- In parts of at most 512 KiB, each of which fits into one statement of every server.
CREATE TABLE blob_chunks (
    sha256 TEXT NOT NULL,
    -- Number of the part, from 0.
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (sha256, position),
    FOREIGN KEY (sha256) REFERENCES blobs (sha256) ON DELETE CASCADE
);

-- The text of documents, page by page.
CREATE TABLE file_texts (
    sha256 TEXT NOT NULL,
    -- Number of the page, from 1.
    page INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (sha256, page),
    FOREIGN KEY (sha256) REFERENCES blobs (sha256) ON DELETE CASCADE
);

CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK (kind IN ('image', 'document', 'text')),
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    -- Of images, in pixels and after the orientation is applied.
    width INTEGER NULL,
    height INTEGER NULL,
    -- Of documents and texts.
    pages INTEGER NULL,
    -- Size of the text of all pages, in UTF-8 bytes; 0 if the file has no text.
    text_bytes INTEGER NOT NULL DEFAULT 0,
    -- The image as models receive it, and its size in pixels.
    model_sha256 TEXT NULL,
    model_width INTEGER NULL,
    model_height INTEGER NULL,
    -- The image as lists show it.
    thumb_sha256 TEXT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('processing', 'ready', 'failed')),
    error TEXT NULL,
    created_at TEXT NOT NULL,
    -- When the user deleted the file.
    deleted_at TEXT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    FOREIGN KEY (sha256) REFERENCES blobs (sha256),
    FOREIGN KEY (model_sha256) REFERENCES blobs (sha256),
    FOREIGN KEY (thumb_sha256) REFERENCES blobs (sha256)
);
CREATE UNIQUE INDEX files_uuid ON files (uuid);
CREATE INDEX files_user ON files (user_id, created_at);
CREATE INDEX files_by_time ON files (created_at);
CREATE INDEX files_sha256 ON files (sha256);
CREATE INDEX files_model ON files (model_sha256);
CREATE INDEX files_thumb ON files (thumb_sha256);

CREATE TABLE message_files (
    message_id INTEGER NOT NULL,
    -- Place among the files of the message, from 0.
    position INTEGER NOT NULL,
    file_id INTEGER NOT NULL,
    -- The part of the file that the model received, as the API writes it; null before the first answer.
    context TEXT NULL,
    PRIMARY KEY (message_id, position),
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE,
    FOREIGN KEY (file_id) REFERENCES files (id)
);
CREATE INDEX message_files_file ON message_files (file_id);

CREATE TABLE tool_call_files (
    tool_call_id INTEGER NOT NULL,
    -- Place among the files of the call, from 0.
    position INTEGER NOT NULL,
    file_id INTEGER NOT NULL,
    PRIMARY KEY (tool_call_id, position),
    FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE,
    FOREIGN KEY (file_id) REFERENCES files (id)
);
CREATE INDEX tool_call_files_file ON tool_call_files (file_id);
