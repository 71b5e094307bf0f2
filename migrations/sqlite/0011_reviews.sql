-- Reviews of calls by models, and what each call of a model was for.

ALTER TABLE model_calls ADD COLUMN purpose TEXT NOT NULL DEFAULT 'answer'
    CHECK (purpose IN ('answer', 'plan', 'evaluate', 'review', 'summary', 'title', 'reasoning_summary'));

-- A step has one answer, and calls beside it.
DROP INDEX model_calls_step;
CREATE INDEX model_calls_by_step ON model_calls (message_id, step);

-- A row a vote.
CREATE TABLE tool_call_reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tool_call_id INTEGER NOT NULL,
    -- By its name in the settings.
    model TEXT NOT NULL,
    verdict TEXT NOT NULL
        CHECK (verdict IN ('approve', 'reject', 'abstain')),
    reason TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
);
CREATE INDEX tool_call_reviews_call ON tool_call_reviews (tool_call_id);

-- Only the model that asked for a call stands beside it.
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
       t.proposed_input_text AS proposed_input
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
