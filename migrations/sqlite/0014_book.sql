-- The book that admins read: what a call is found by without going through all of them.

-- Which tool server's tool it is, as the tool's name says; empty for a built-in one.
ALTER TABLE tool_calls ADD COLUMN server TEXT GENERATED ALWAYS AS
    (CASE WHEN INSTR(tool_name, '__') > 1 THEN SUBSTR(tool_name, 1, INSTR(tool_name, '__') - 1) ELSE '' END) VIRTUAL;
-- Whose it is, and which model asked for it, by its name in the catalog. The book writes these down soon after the call was
-- stored, so that a turn does not wait for it; until then they are null.
ALTER TABLE tool_calls ADD COLUMN user_id INTEGER NULL;
ALTER TABLE tool_calls ADD COLUMN conversation_id INTEGER NULL;
ALTER TABLE tool_calls ADD COLUMN model TEXT NULL;

CREATE INDEX tool_calls_by_server ON tool_calls (server, started_at, id);
CREATE INDEX tool_calls_by_user ON tool_calls (user_id, started_at, id);
CREATE INDEX tool_calls_by_conversation ON tool_calls (conversation_id, started_at, id);
CREATE INDEX tool_calls_by_model ON tool_calls (model, started_at, id);
CREATE INDEX tool_calls_by_duration ON tool_calls (duration_ms, id);

-- Who has looked at whose.
CREATE INDEX audit_log_by_user_and_time ON audit_log (user_id, created_at, id);

-- What there was in each hour that is over and has no open calls: calls by tool and status, how many of a tool's took up to
-- so many milliseconds, and what models took.
CREATE TABLE counted_hours (
    hour TEXT NOT NULL PRIMARY KEY,
    counted_at TEXT NOT NULL
);
CREATE TABLE tool_call_hours (
    hour TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    status TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (hour, tool_name, status)
);
CREATE TABLE tool_duration_hours (
    hour TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    up_to_ms INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (hour, tool_name, up_to_ms)
);
CREATE TABLE model_call_hours (
    hour TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (hour, user_id, model)
);

-- What an admin wants to know of a call, in one SELECT; docs/sql.md says how to ask.
DROP VIEW tool_history;
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
