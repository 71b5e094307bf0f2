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
ALTER TABLE approvals ADD COLUMN decided_by_kind TEXT NULL
    CHECK (decided_by_kind IN ('user', 'review', 'timeout'));
ALTER TABLE approvals ADD COLUMN decided_by_user_id INTEGER NULL;

UPDATE approvals SET decided_by_kind = (
    SELECT CASE
        WHEN approvals.decision = 'deny' AND t.error = 'Nobody decided on this call in time, so it did not run.' THEN 'timeout'
        WHEN approvals.decision = 'deny' AND t.error LIKE 'Reviewing models refused this call, so it did not run.%' THEN 'review'
        WHEN approvals.decision = 'approve' AND approvals.decided_by = 'review' AND (u.name <> 'review' OR EXISTS (
            SELECT 1 FROM tool_call_reviews v WHERE v.tool_call_id = approvals.tool_call_id AND v.verdict = 'approve'
            AND SUBSTR(approvals.reason, 1, LENGTH(v.model)) = v.model)) THEN 'review'
        ELSE 'user' END
    FROM tool_calls t
    JOIN messages m ON m.id = t.message_id
    JOIN conversations c ON c.id = m.conversation_id
    JOIN users u ON u.id = c.user_id
    WHERE t.id = approvals.tool_call_id);

UPDATE approvals SET decided_by_user_id = (
    SELECT c.user_id
    FROM tool_calls t
    JOIN messages m ON m.id = t.message_id
    JOIN conversations c ON c.id = m.conversation_id
    WHERE t.id = approvals.tool_call_id)
WHERE decided_by_kind = 'user';

-- The last decision on each call.
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
