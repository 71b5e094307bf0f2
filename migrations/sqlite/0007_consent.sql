-- Consent: turns that have paused until somebody has decided on their calls, and those decisions.

-- Views keep a column from being taken away; this one is made anew below.
DROP VIEW tool_history;

-- Another status. A CHECK goes with its column and only with it.
DROP INDEX messages_lease;
ALTER TABLE messages RENAME COLUMN status TO status_before;
ALTER TABLE messages ADD COLUMN status TEXT NOT NULL DEFAULT 'complete'
    CHECK (status IN ('complete', 'streaming', 'stopped', 'failed', 'interrupted', 'awaiting_approval'));
UPDATE messages SET status = status_before;
ALTER TABLE messages DROP COLUMN status_before;
CREATE INDEX messages_lease ON messages (status, lease_until);

-- How long its runs took together since it was begun, or continued by hand. Waiting is no part of it.
ALTER TABLE messages ADD COLUMN active_ms INTEGER NOT NULL DEFAULT 0;

-- What the model had asked for, where a person changed `input_text` before the call ran.
ALTER TABLE tool_calls ADD COLUMN proposed_input_text TEXT NULL;
-- Of the tool when consent was asked for.
ALTER TABLE tool_calls ADD COLUMN tool_hash TEXT NULL;
-- When it was decided on. One that was approved keeps the status `awaiting_approval` until it begins.
ALTER TABLE tool_calls ADD COLUMN decided_at TEXT NULL;

CREATE TABLE approvals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tool_call_id INTEGER NOT NULL,
    decision TEXT NOT NULL
        CHECK (decision IN ('approve', 'deny')),
    -- A person's name, `review` or `nobody`.
    decided_by TEXT NOT NULL,
    proposed_input TEXT NOT NULL,
    -- What it runs with; null for a refusal.
    final_input TEXT NULL,
    reason TEXT NULL,
    -- How far it reaches beyond its own call.
    scope TEXT NULL
        CHECK (scope IN ('conversation', 'always')),
    -- SHA-256 of what the tool was when it was approved.
    tool_hash TEXT NULL,
    created_at TEXT NOT NULL,
    revoked_at TEXT NULL,
    FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
);
CREATE INDEX approvals_call ON approvals (tool_call_id);
CREATE INDEX approvals_standing ON approvals (scope, revoked_at);

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
       t.proposed_input_text AS proposed_input
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step;
