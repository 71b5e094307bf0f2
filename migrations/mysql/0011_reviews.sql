-- Reviews of calls by models, and what each call of a model was for.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'model_calls' AND COLUMN_NAME = 'purpose');

SET @change = IF(@is_missing, 'ALTER TABLE model_calls ADD COLUMN purpose
    ENUM(''answer'', ''plan'', ''evaluate'', ''review'', ''summary'', ''title'', ''reasoning_summary'')
    NOT NULL DEFAULT ''answer''', 'DO 0');

PREPARE change_model_calls FROM @change;

EXECUTE change_model_calls;

DEALLOCATE PREPARE change_model_calls;

-- A step has one answer, and calls beside it. The new key comes first: the foreign key needs one.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'model_calls' AND INDEX_NAME = 'model_calls_by_step');

SET @change = IF(@is_missing, 'ALTER TABLE model_calls ADD KEY model_calls_by_step (message_id, step)', 'DO 0');

PREPARE change_model_calls FROM @change;

EXECUTE change_model_calls;

DEALLOCATE PREPARE change_model_calls;

SET @is_there = (SELECT COUNT(*) > 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'model_calls' AND INDEX_NAME = 'model_calls_step');

SET @change = IF(@is_there, 'ALTER TABLE model_calls DROP KEY model_calls_step', 'DO 0');

PREPARE change_model_calls FROM @change;

EXECUTE change_model_calls;

DEALLOCATE PREPARE change_model_calls;

-- A row a vote.
CREATE TABLE IF NOT EXISTS tool_call_reviews (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    tool_call_id BIGINT NOT NULL,
    -- By its name in the settings.
    model VARCHAR(190) NOT NULL,
    verdict ENUM('approve', 'reject', 'abstain') NOT NULL,
    reason TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    KEY tool_call_reviews_call (tool_call_id),
    CONSTRAINT tool_call_reviews_call_fk FOREIGN KEY (tool_call_id) REFERENCES tool_calls (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Only the model that asked for a call stands beside it.
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
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer';
