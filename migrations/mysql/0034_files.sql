-- Files that users upload and tools return. The content is stored once per SHA-256 hash.

CREATE TABLE IF NOT EXISTS blobs (
    -- SHA-256 hash of the content, in hex.
    sha256 CHAR(64) NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL,
    media_type VARCHAR(100) NOT NULL,
    -- `database` if the content is in `blob_chunks`; otherwise the path of the object in the store of FILES_URL.
    storage VARCHAR(255) NOT NULL,
    -- Null until the content is complete.
    stored_at DATETIME(6) NULL,
    -- When a file last began to refer to the content, or an upload last wrote it. Content without files is kept for a day.
    used_at DATETIME(6) NOT NULL,
    KEY blobs_used (used_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- In parts of at most 512 KiB, each of which fits into one statement of every server.
CREATE TABLE IF NOT EXISTS blob_chunks (
    sha256 CHAR(64) NOT NULL,
    -- Number of the part, from 0.
    position INT NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (sha256, position),
    CONSTRAINT blob_chunks_blob_fk FOREIGN KEY (sha256) REFERENCES blobs (sha256) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The text of documents, page by page.
CREATE TABLE IF NOT EXISTS file_texts (
    sha256 CHAR(64) NOT NULL,
    -- Number of the page, from 1.
    page INT NOT NULL,
    text MEDIUMTEXT NOT NULL,
    PRIMARY KEY (sha256, page),
    CONSTRAINT file_texts_blob_fk FOREIGN KEY (sha256) REFERENCES blobs (sha256) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS files (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    uuid CHAR(36) NOT NULL,
    user_id BIGINT NOT NULL,
    sha256 CHAR(64) NOT NULL,
    name VARCHAR(255) NOT NULL,
    kind ENUM('image', 'document', 'text') NOT NULL,
    media_type VARCHAR(100) NOT NULL,
    bytes BIGINT NOT NULL,
    -- Of images, in pixels and after the orientation is applied.
    width INT NULL,
    height INT NULL,
    -- Of documents and texts.
    pages INT NULL,
    -- Size of the text of all pages, in UTF-8 bytes; 0 if the file has no text.
    text_bytes BIGINT NOT NULL DEFAULT 0,
    -- The image as models receive it, and its size in pixels.
    model_sha256 CHAR(64) NULL,
    model_width INT NULL,
    model_height INT NULL,
    -- The image as lists show it.
    thumb_sha256 CHAR(64) NULL,
    status ENUM('processing', 'ready', 'failed') NOT NULL,
    error TEXT NULL,
    created_at DATETIME(6) NOT NULL,
    -- When the user deleted the file.
    deleted_at DATETIME(6) NULL,
    UNIQUE KEY files_uuid (uuid),
    KEY files_user (user_id, created_at),
    KEY files_by_time (created_at),
    CONSTRAINT files_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT files_blob_fk FOREIGN KEY (sha256) REFERENCES blobs (sha256),
    CONSTRAINT files_model_fk FOREIGN KEY (model_sha256) REFERENCES blobs (sha256),
    CONSTRAINT files_thumb_fk FOREIGN KEY (thumb_sha256) REFERENCES blobs (sha256)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS message_files (
    message_id BIGINT NOT NULL,
    -- Place among the files of the message, from 0.
    position INT NOT NULL,
    file_id BIGINT NOT NULL,
    -- The part of the file that the model received, as the API writes it; null before the first answer.
    context VARCHAR(100) NULL,
    PRIMARY KEY (message_id, position),
    KEY message_files_file (file_id),
    CONSTRAINT message_files_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE,
    CONSTRAINT message_files_file_fk FOREIGN KEY (file_id) REFERENCES files (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_call_files (
    tool_call_id BIGINT NOT NULL,
    -- Place among the files of the call, from 0.
    position INT NOT NULL,
    file_id BIGINT NOT NULL,
    PRIMARY KEY (tool_call_id, position),
    KEY tool_call_files_file (file_id),
    CONSTRAINT tool_call_files_call_fk FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE,
    CONSTRAINT tool_call_files_file_fk FOREIGN KEY (file_id) REFERENCES files (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
