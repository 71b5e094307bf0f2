-- The tables whole, with room for what comes later, so that none has to be rebuilt.
-- Mirrors migrations/mysql. Times are UTC text in RFC 3339 as sqlx writes it.

CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    -- Null while the server has no sign-in: the one local user cannot log in from elsewhere.
    password_hash TEXT NULL,
    role TEXT NOT NULL DEFAULT 'user'
        CHECK (role IN ('user', 'admin')),
    created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX users_name ON users (name);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- SHA-256 of the cookie, in hex: whoever reads the table cannot sign in with it.
    token_hash TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX sessions_token_hash ON sessions (token_hash);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    title TEXT NOT NULL,
    -- The last message of the branch that is shown.
    head_message_id INTEGER NULL,
    -- The turn that runs. Claimed by a conditional UPDATE, so that two turns never run at once.
    active_message_id INTEGER NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX conversations_uuid ON conversations (uuid);
CREATE INDEX conversations_list ON conversations (user_id, updated_at, id);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL,
    -- The message before it. Editing and regenerating add siblings, which makes branches.
    parent_id INTEGER NULL,
    role TEXT NOT NULL
        CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('complete', 'streaming', 'stopped', 'failed', 'interrupted')),
    error TEXT NULL,
    error_code TEXT NULL,
    stop_reason TEXT NULL,
    -- Chosen by the client: sending twice makes one message.
    client_message_id TEXT NULL,
    -- Which process runs the turn, under which lease.
    owner TEXT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    lease_until TEXT NULL,
    stop_requested_at TEXT NULL,
    created_at TEXT NOT NULL,
    completed_at TEXT NULL,
    FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX messages_client_id ON messages (conversation_id, client_message_id);
CREATE INDEX messages_parent ON messages (parent_id);
CREATE INDEX messages_lease ON messages (status, lease_until);

CREATE TABLE tool_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    -- The provider's id of the call.
    tool_call_id TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    -- For queries. What is not JSON, or nested too deep for this column, stands here as one JSON string.
    input TEXT NOT NULL,
    -- Exactly what the model wrote; kept apart from `input`, which MySQL's JSON type rewrites.
    input_text TEXT NOT NULL,
    output TEXT NULL,
    error TEXT NULL,
    error_type TEXT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'awaiting_approval', 'success', 'error', 'denied', 'cancelled', 'interrupted')),
    -- Which step of the turn, and which place in the step; both count from 0.
    step INTEGER NOT NULL,
    position INTEGER NOT NULL,
    -- Where in the answer's text it happened, in UTF-8 bytes.
    text_offset INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    completed_at TEXT NULL,
    duration_ms INTEGER NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX tool_calls_place ON tool_calls (message_id, step, position);
CREATE INDEX tool_calls_provider_id ON tool_calls (tool_call_id);
CREATE INDEX tool_calls_by_tool ON tool_calls (tool_name, started_at, id);
CREATE INDEX tool_calls_by_status ON tool_calls (status, started_at, id);
CREATE INDEX tool_calls_by_time ON tool_calls (started_at, id);

CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    stop_reason TEXT NULL,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    time_to_first_token_ms INTEGER NULL,
    duration_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 1,
    error TEXT NULL,
    -- What the model said in this step, block by block, so that the step can be told to a model again.
    blocks TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX model_calls_step ON model_calls (message_id, step);
CREATE INDEX model_calls_by_time ON model_calls (created_at, id);

CREATE TABLE journal_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    -- The number of the last live event that this row holds; text deltas are joined, so numbers have gaps.
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX journal_events_place ON journal_events (message_id, epoch, seq);
CREATE INDEX journal_events_by_time ON journal_events (created_at);

-- What an admin wants to know of a call, in one SELECT.
CREATE VIEW tool_history AS
SELECT t.id,
       t.started_at,
       t.tool_name,
       t.status,
       t.duration_ms,
       t.input_text AS input,
       t.output,
       t.error,
       t.error_type,
       t.step,
       t.position,
       t.tool_call_id,
       t.completed_at,
       m.id AS message_id,
       m.status AS turn_status,
       c.uuid AS conversation_uuid,
       c.title AS conversation_title,
       u.name AS user_name,
       k.provider,
       k.model
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step;

-- Whoever uses a server without sign-in.
INSERT INTO users (id, name, role, created_at) VALUES (1, 'local', 'admin', strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'));
