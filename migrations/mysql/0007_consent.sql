-- Consent: turns that have paused until somebody has decided on their calls, and those decisions.

ALTER TABLE messages
    MODIFY COLUMN status ENUM('complete', 'streaming', 'stopped', 'failed', 'interrupted', 'awaiting_approval') NOT NULL;

-- How long its runs took together since it was begun, or continued by hand. Waiting is no part of it.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'active_ms');

SET @change = IF(@is_missing, 'ALTER TABLE messages ADD COLUMN active_ms BIGINT NOT NULL DEFAULT 0', 'DO 0');

PREPARE change_messages FROM @change;

EXECUTE change_messages;

DEALLOCATE PREPARE change_messages;

-- What the model had asked for, where a person changed `input_text` before the call ran; of the tool when consent was asked
-- for; and when it was decided on. A call that was approved keeps the status `awaiting_approval` until it begins.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tool_calls' AND COLUMN_NAME = 'proposed_input_text');

SET @change = IF(@is_missing, 'ALTER TABLE tool_calls
    ADD COLUMN proposed_input_text LONGTEXT NULL,
    ADD COLUMN tool_hash CHAR(64) NULL,
    ADD COLUMN decided_at DATETIME(6) NULL', 'DO 0');

PREPARE change_tool_calls FROM @change;

EXECUTE change_tool_calls;

DEALLOCATE PREPARE change_tool_calls;

CREATE TABLE IF NOT EXISTS approvals (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    tool_call_id BIGINT NOT NULL,
    decision ENUM('approve', 'deny') NOT NULL,
    -- A person's name, `review` or `nobody`.
    decided_by VARCHAR(190) NOT NULL,
    proposed_input LONGTEXT NOT NULL,
    -- What it runs with; null for a refusal.
    final_input LONGTEXT NULL,
    reason TEXT NULL,
    -- How far it reaches beyond its own call.
    scope ENUM('conversation', 'always') NULL,
    -- SHA-256 of what the tool was when it was approved.
    tool_hash CHAR(64) NULL,
    created_at DATETIME(6) NOT NULL,
    revoked_at DATETIME(6) NULL,
    KEY approvals_call (tool_call_id),
    KEY approvals_standing (scope, revoked_at),
    CONSTRAINT approvals_call_fk FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

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
       t.proposed_input_text AS proposed_input
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step;
