-- The definitions of tool servers' tools that are accepted, so that a change is seen after a restart, and by every server.

CREATE TABLE IF NOT EXISTS tool_pins (
    -- SHA-256, in hex, of the server's name, a NUL and the tool's.
    id CHAR(64) NOT NULL PRIMARY KEY,
    -- The server's name in the settings.
    server VARCHAR(64) NOT NULL,
    -- What the server calls the tool.
    tool VARCHAR(256) NOT NULL,
    -- SHA-256, in hex, of the definition that is accepted: name, description, schema and annotations.
    hash CHAR(64) NOT NULL,
    first_seen_at DATETIME(6) NOT NULL,
    -- When somebody accepted the definition; null for the first one, which is accepted as it is.
    accepted_at DATETIME(6) NULL,
    INDEX tool_pins_server (server)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
