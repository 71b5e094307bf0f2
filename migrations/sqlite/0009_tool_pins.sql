-- The definitions of tool servers' tools that are accepted, so that a change is seen after a restart, and by every server.

CREATE TABLE tool_pins (
    -- SHA-256, in hex, of the server's name, a NUL and the tool's.
    id TEXT NOT NULL PRIMARY KEY,
    -- The server's name in the settings.
    server TEXT NOT NULL,
    -- What the server calls the tool.
    tool TEXT NOT NULL,
    -- SHA-256, in hex, of the definition that is accepted: name, description, schema and annotations.
    hash TEXT NOT NULL,
    first_seen_at TEXT NOT NULL,
    -- When somebody accepted the definition; null for the first one, which is accepted as it is.
    accepted_at TEXT NULL
);

CREATE INDEX tool_pins_server ON tool_pins (server);
