-- Adds the kind of decider and the user's id to decisions. `decided_by` alone cannot tell: users may have the names that it holds
-- for the other deciders.
--
-- Existing decisions get their kind from what no user could write, wherever there is such a thing:
--
-- * A denied call is over, and its `error` names the decider. Only the timeout and the reviewing models write their sentences; a
--   user's denial begins with "A person refused this call" or says that the answer was stopped.
-- * An approved call has no such sentence. An approval by `review` is the reviewing models' unless the conversation's owner, who
--   alone can decide on its calls, has that name, too. In that case it is theirs if its reason begins with the name of a model
--   that voted for the call, as the joined reasons of the votes do. The page sends no reason with an approval.
-- * Everything else is a user's. The user is the conversation's owner.
--
-- Both columns are NULL in rows that a server of the previous version adds during an upgrade. Readers call their kind unknown.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'approvals' AND COLUMN_NAME = 'decided_by_kind');

SET @change = IF(@is_missing, 'ALTER TABLE approvals
    ADD COLUMN decided_by_kind ENUM(''user'', ''review'', ''timeout'') NULL,
    ADD COLUMN decided_by_user_id BIGINT NULL', 'DO 0');

PREPARE change_approvals FROM @change;

EXECUTE change_approvals;

DEALLOCATE PREPARE change_approvals;

UPDATE approvals a
JOIN tool_calls t ON t.id = a.tool_call_id
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
SET a.decided_by_kind = CASE
    WHEN a.decision = 'deny' AND t.error = 'Nobody decided on this call in time, so it did not run.' THEN 'timeout'
    WHEN a.decision = 'deny' AND t.error LIKE 'Reviewing models refused this call, so it did not run.%' THEN 'review'
    WHEN a.decision = 'approve' AND a.decided_by = 'review' AND (u.name <> 'review' OR EXISTS (
        SELECT 1 FROM tool_call_reviews v WHERE v.tool_call_id = a.tool_call_id AND v.verdict = 'approve'
        AND SUBSTR(a.reason, 1, CHAR_LENGTH(v.model)) = v.model)) THEN 'review'
    ELSE 'user' END
WHERE a.decided_by_kind IS NULL;

UPDATE approvals a
JOIN tool_calls t ON t.id = a.tool_call_id
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
SET a.decided_by_user_id = c.user_id
WHERE a.decided_by_kind = 'user' AND a.decided_by_user_id IS NULL;

-- The last decision on each call.
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
       COALESCE(c.deleted_at, u.deleted_at) AS deleted_at,
       a.decision,
       a.decided_by,
       a.decided_by_kind,
       a.decided_by_user_id,
       a.scope AS decision_scope
FROM tool_calls t
JOIN messages m ON m.id = t.message_id
JOIN conversations c ON c.id = m.conversation_id
JOIN users u ON u.id = c.user_id
LEFT JOIN model_calls k ON k.message_id = t.message_id AND k.step = t.step AND k.purpose = 'answer'
LEFT JOIN approvals a ON a.tool_call_id = t.id AND NOT EXISTS (
    SELECT 1 FROM approvals later WHERE later.tool_call_id = t.id
    AND (later.created_at > a.created_at OR (later.created_at = a.created_at AND later.id > a.id)));
