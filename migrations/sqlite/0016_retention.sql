-- What a person deletes is hidden, and stays in the book until the retention purges it; and calls that an admin ran again.

-- Hidden from its owner since then.
ALTER TABLE conversations ADD COLUMN deleted_at TEXT NULL;
-- Of those alone that are deleted: nothing that asks for the others may take it for a good way to them.
CREATE INDEX conversations_deleted ON conversations (deleted_at, id) WHERE deleted_at IS NOT NULL;

-- A row is there before its tool runs. One that is still `pending` when no tool can run any more was lost with its server.
CREATE TABLE tool_reruns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tool_call_id INTEGER NOT NULL,
    -- Who ran it again.
    user_id INTEGER NOT NULL,
    input_text TEXT NOT NULL,
    output TEXT NULL,
    error TEXT NULL,
    error_type TEXT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'success', 'error')),
    duration_ms INTEGER NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
);
CREATE INDEX tool_reruns_call ON tool_reruns (tool_call_id, id);

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
       COALESCE(m.model, k.model) AS model_name,
       COALESCE(c.deleted_at, u.deleted_at) AS deleted_at
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
