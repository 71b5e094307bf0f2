-- The view asks for nothing that an older sqlite3 does not know: OCTET_LENGTH is of version 3.43, and Debian 12 has 3.40.
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
       LENGTH(CAST(t.input_text AS BLOB)) AS input_bytes,
       LENGTH(CAST(t.output AS BLOB)) AS output_bytes,
       t.decided_at,
       COALESCE(m.model, k.model) AS model_name,
       COALESCE(c.deleted_at, u.deleted_at) AS deleted_at
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
