-- The tables whole, with room for what comes later, so that none has to be rebuilt.
-- Times are UTC with microseconds. Text compares byte by byte (utf8mb4_bin).

CREATE TABLE users (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(190) NOT NULL,
    -- Null while the server has no sign-in: the one local user cannot log in from elsewhere.
    password_hash VARCHAR(255) NULL,
    role ENUM('user', 'admin') NOT NULL DEFAULT 'user',
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY users_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE sessions (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- SHA-256 of the cookie, in hex: whoever reads the table cannot sign in with it.
    token_hash CHAR(64) NOT NULL,
    user_id BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6) NOT NULL,
    UNIQUE KEY sessions_token_hash (token_hash),
    KEY sessions_user (user_id),
    CONSTRAINT sessions_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE conversations (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    uuid CHAR(36) NOT NULL,
    user_id BIGINT NOT NULL,
    title VARCHAR(200) NOT NULL,
    -- The last message of the branch that is shown.
    head_message_id BIGINT NULL,
    -- The turn that runs. Claimed by a conditional UPDATE, so that two turns never run at once.
    active_message_id BIGINT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    UNIQUE KEY conversations_uuid (uuid),
    KEY conversations_list (user_id, updated_at, id),
    CONSTRAINT conversations_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE messages (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    conversation_id BIGINT NOT NULL,
    -- The message before it. Editing and regenerating add siblings, which makes branches.
    parent_id BIGINT NULL,
    role ENUM('user', 'assistant') NOT NULL,
    content LONGTEXT NOT NULL,
    status ENUM('complete', 'streaming', 'stopped', 'failed', 'interrupted') NOT NULL,
    error TEXT NULL,
    error_code VARCHAR(64) NULL,
    stop_reason VARCHAR(64) NULL,
    -- Chosen by the client: sending twice makes one message.
    client_message_id VARCHAR(64) NULL,
    -- Which process runs the turn, under which lease.
    owner VARCHAR(64) NULL,
    epoch INT NOT NULL DEFAULT 0,
    lease_until DATETIME(6) NULL,
    stop_requested_at DATETIME(6) NULL,
    created_at DATETIME(6) NOT NULL,
    completed_at DATETIME(6) NULL,
    UNIQUE KEY messages_client_id (conversation_id, client_message_id),
    KEY messages_parent (parent_id),
    KEY messages_lease (status, lease_until),
    CONSTRAINT messages_conversation_fk FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE tool_calls (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    -- The provider's id of the call.
    tool_call_id VARCHAR(255) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    -- For queries. What is not JSON, or nested too deep for this column, stands here as one JSON string.
    input JSON NOT NULL,
    -- Exactly what the model wrote; the JSON type reorders keys and rounds long numbers.
    input_text LONGTEXT NOT NULL,
    output LONGTEXT NULL,
    error TEXT NULL,
    error_type VARCHAR(64) NULL,
    status ENUM('pending', 'awaiting_approval', 'success', 'error', 'denied', 'cancelled', 'interrupted')
        NOT NULL DEFAULT 'pending',
    -- Which step of the turn, and which place in the step; both count from 0.
    step INT NOT NULL,
    position INT NOT NULL,
    -- Where in the answer's text it happened, in UTF-8 bytes.
    text_offset BIGINT NOT NULL,
    started_at DATETIME(6) NOT NULL,
    completed_at DATETIME(6) NULL,
    duration_ms BIGINT NULL,
    UNIQUE KEY tool_calls_place (message_id, step, position),
    KEY tool_calls_provider_id (tool_call_id),
    KEY tool_calls_by_tool (tool_name, started_at, id),
    KEY tool_calls_by_status (status, started_at, id),
    KEY tool_calls_by_time (started_at, id),
    CONSTRAINT tool_calls_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE model_calls (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    step INT NOT NULL,
    provider VARCHAR(64) NOT NULL,
    model VARCHAR(190) NOT NULL,
    stop_reason VARCHAR(64) NULL,
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    cached_tokens BIGINT NOT NULL DEFAULT 0,
    time_to_first_token_ms BIGINT NULL,
    duration_ms BIGINT NOT NULL,
    attempts INT NOT NULL DEFAULT 1,
    error TEXT NULL,
    -- What the model said in this step, block by block, so that the step can be told to a model again.
    blocks LONGTEXT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY model_calls_step (message_id, step),
    KEY model_calls_by_time (created_at, id),
    CONSTRAINT model_calls_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE journal_events (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    epoch INT NOT NULL,
    -- The number of the last live event that this row holds; text deltas are joined, so numbers have gaps.
    seq BIGINT NOT NULL,
    event VARCHAR(32) NOT NULL,
    data LONGTEXT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY journal_events_place (message_id, epoch, seq),
    KEY journal_events_by_time (created_at),
    CONSTRAINT journal_events_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

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
INSERT INTO users (id, name, role, created_at) VALUES (1, 'local', 'admin', UTC_TIMESTAMP(6));
