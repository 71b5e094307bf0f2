-- The book that admins read: what a call is found by without going through all of them.

-- `server`: which tool server's tool it is, as the tool's name says; empty for a built-in one.
-- `user_id`, `conversation_id`, `model`: whose it is, and which model asked for it, by its name in the catalog. The book
-- writes these down soon after the call was stored, so that a turn does not wait for it; until then they are null.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tool_calls' AND COLUMN_NAME = 'user_id');

SET @change = IF(@is_missing, 'ALTER TABLE tool_calls
    ADD COLUMN server VARCHAR(100) GENERATED ALWAYS AS
        (CASE WHEN INSTR(tool_name, ''__'') > 1 THEN SUBSTR(tool_name, 1, INSTR(tool_name, ''__'') - 1) ELSE '''' END) VIRTUAL,
    ADD COLUMN user_id BIGINT NULL,
    ADD COLUMN conversation_id BIGINT NULL,
    ADD COLUMN model VARCHAR(190) NULL,
    ADD KEY tool_calls_by_server (server, started_at, id),
    ADD KEY tool_calls_by_user (user_id, started_at, id),
    ADD KEY tool_calls_by_conversation (conversation_id, started_at, id),
    ADD KEY tool_calls_by_model (model, started_at, id),
    ADD KEY tool_calls_by_duration (duration_ms, id)', 'DO 0');

PREPARE change_tool_calls FROM @change;

EXECUTE change_tool_calls;

DEALLOCATE PREPARE change_tool_calls;

-- Who has looked at whose.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'audit_log' AND INDEX_NAME = 'audit_log_by_user_and_time');

SET @change = IF(@is_missing, 'ALTER TABLE audit_log
    ADD KEY audit_log_by_user_and_time (user_id, created_at, id)', 'DO 0');

PREPARE change_audit_log FROM @change;

EXECUTE change_audit_log;

DEALLOCATE PREPARE change_audit_log;

-- What there was in each hour that is over and has no open calls: calls by tool and status, how many of a tool's took up to
-- so many milliseconds, and what models took.
CREATE TABLE IF NOT EXISTS counted_hours (
    hour DATETIME(6) NOT NULL PRIMARY KEY,
    counted_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_call_hours (
    hour DATETIME(6) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    status VARCHAR(32) NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (hour, tool_name, status)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_duration_hours (
    hour DATETIME(6) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    up_to_ms BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (hour, tool_name, up_to_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS model_call_hours (
    hour DATETIME(6) NOT NULL,
    user_id BIGINT NOT NULL,
    model VARCHAR(190) NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nanos BIGINT NOT NULL,
    PRIMARY KEY (hour, user_id, model)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What an admin wants to know of a call, in one SELECT; docs/sql.md says how to ask.
CREATE OR REPLACE VIEW tool_history AS
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
       k.model,
       t.proposed_input_text AS proposed_input,
       t.server,
       OCTET_LENGTH(t.input_text) AS input_bytes,
       OCTET_LENGTH(t.output) AS output_bytes,
       t.decided_at,
       COALESCE(m.model, k.model) AS model_name
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
