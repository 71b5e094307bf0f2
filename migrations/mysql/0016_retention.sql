-- What a person deletes is hidden, and stays in the book until the retention purges it; and calls that an admin ran again.

-- `deleted_at`: hidden from its owner since then.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'deleted_at');

SET @change = IF(@is_missing, 'ALTER TABLE conversations
    ADD COLUMN deleted_at DATETIME(6) NULL,
    ADD KEY conversations_deleted (deleted_at, id)', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;

-- A row is there before its tool runs. One that is still `pending` when no tool can run any more was lost with its server.
CREATE TABLE IF NOT EXISTS tool_reruns (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    tool_call_id BIGINT NOT NULL,
    -- Who ran it again.
    user_id BIGINT NOT NULL,
    input_text LONGTEXT NOT NULL,
    output LONGTEXT NULL,
    error TEXT NULL,
    error_type VARCHAR(64) NULL,
    status ENUM('pending', 'success', 'error') NOT NULL DEFAULT 'pending',
    duration_ms BIGINT NULL,
    created_at DATETIME(6) NOT NULL,
    KEY tool_reruns_call (tool_call_id, id),
    CONSTRAINT tool_reruns_call_fk FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
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
       COALESCE(m.model, k.model) AS model_name,
       COALESCE(c.deleted_at, u.deleted_at) AS deleted_at
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
