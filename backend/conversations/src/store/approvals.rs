//! SQL for approvals: calls that wait, decisions on them (`approvals`), and saved approvals.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::StartedToolCall;
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{ApprovalId, ApprovalScope, DeciderKind, Decision, MessageId, ToolCallId, ToolCallStatus};
use uuid::Uuid;

use crate::store::{columns::json_column, decisions::Decider, tool_calls::create_tool_call};

/// A call that can be decided on, with its conversation and owner.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecidableRow {
    pub id: ToolCallId,
    pub message_id: MessageId,
    pub tool_name: String,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub decided_at: Option<DateTime<Utc>>,
    pub tool_hash: Option<String>,
    /// UUID of the call's conversation.
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub user_id: UserId,
}

impl DecidableRow {
    pub(crate) fn is_waiting(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval && self.decided_at.is_none()
    }
}

/// A decision to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewApproval<'a> {
    pub tool_call_id: ToolCallId,
    pub decider: Decider<'a>,
    pub decided_at: DateTime<Utc>,
    pub reason: Option<&'a str>,
    pub verdict: NewVerdict<'a>,
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewVerdict<'a> {
    /// The call may run if its tool still has this hash.
    Approve { tool_hash: &'a str, input: Option<&'a str>, scope: Option<ApprovalScope> },
    /// The call must not run; `error` is the text for the model and the client.
    Deny { error: &'a str },
}

/// A turn in which no call waits for a decision any more.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecidedTurn {
    pub message_id: MessageId,
    pub uuid: String,
    pub user_id: UserId,
}

/// A saved approval.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct SavedApprovalRow {
    pub id: ApprovalId,
    pub tool_name: String,
    #[sqlx(try_from = "String")]
    pub scope: ApprovalScope,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub tool_call_id: ToolCallId,
    pub decided_by: String,
    #[sqlx(try_from = "Option<String>")]
    pub decided_by_kind: DeciderKind,
    pub decided_by_user_id: Option<i64>,
    pub created_at: DateTime<Utc>,
}

/// Stores a call that waits for a decision, or asks again for a stored one. Returns its ID, or `None` if the stored
/// call no longer waits.
pub(crate) async fn create_waiting_call(
    tx: &mut Transaction,
    message_id: MessageId,
    call: &StartedToolCall<'_>,
    text_offset: i64,
    tool_hash: &str,
    at: DateTime<Utc>,
) -> sqlx::Result<Option<ToolCallId>> {
    if let Some(id) = call.waited {
        let done = tx
            .query(
                "UPDATE tool_calls SET tool_hash = ?, decided_at = NULL, started_at = ? \
                 WHERE id = ? AND status = 'awaiting_approval'",
            )
            .bind(tool_hash)
            .bind(at)
            .bind(id)
            .execute()
            .await?;
        return Ok((done.rows == 1).then_some(id));
    }
    create_tool_call(tx, message_id, call, text_offset, Some(tool_hash), at).await.map(Some)
}

/// Stores that an approved call is about to run. Returns `false` if the call does not wait for approval, or was not
/// decided on.
pub(crate) async fn start_approved_call(
    tx: &mut Transaction,
    id: ToolCallId,
    started_at: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = tx
        .query(
            "UPDATE tool_calls SET status = 'pending', started_at = ? \
             WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NOT NULL",
        )
        .bind(started_at)
        .bind(id)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Returns `true` if the user has always allowed this tool, in the conversation of this message or in general. An
/// approval of a definition with another hash does not count.
pub(crate) async fn has_saved_approval(
    db: &Database,
    message_id: MessageId,
    tool_name: &str,
    tool_hash: &str,
) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!(
            "SELECT COUNT(*) FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id \
             JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
             JOIN messages here ON here.id = ? JOIN conversations own ON own.id = \
             here.conversation_id WHERE a.scope IN ('conversation', 'always') \
             AND a.revoked_at IS NULL AND a.decision = 'approve' AND a.tool_hash = ? \
             AND t.tool_name = ? AND c.user_id = own.user_id AND (a.scope = 'always' \
             OR c.id = own.id) AND c.deleted_at IS NULL"
        ))
        .bind(message_id)
        .bind(tool_hash)
        .bind(tool_name)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Stores a decision. Returns `false` if the call no longer waits for one, or if it is approved with another hash than
/// the stored one.
pub(crate) async fn create_approval(tx: &mut Transaction, new: NewApproval<'_>) -> sqlx::Result<bool> {
    let NewApproval { tool_call_id: id, decider, decided_at: now, reason, verdict } = new;
    let claim = match verdict {
        NewVerdict::Approve { tool_hash, input: None, .. } => {
            // Of two concurrent decisions on a call, only one changes its row.
            tx.query(
                "UPDATE tool_calls SET decided_at = ? \
                 WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL AND tool_hash = ?",
            )
            .bind(now)
            .bind(id)
            .bind(tool_hash)
            .execute()
            .await?
        }
        NewVerdict::Approve { tool_hash, input: Some(input), .. } => {
            // Some engines assign one column after the other, so the proposed input must be saved before `input_text`
            // changes.
            let edit = tx
                .query(
                    "UPDATE tool_calls SET decided_at = ?, \
                     proposed_input_text = COALESCE(proposed_input_text, input_text), input = ?, input_text = ? \
                     WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL AND tool_hash = ?",
                )
                .bind(now)
                .bind(json_column(input).as_str().to_owned())
                .bind(input);
            edit.bind(id).bind(tool_hash).execute().await?
        }
        NewVerdict::Deny { error } => {
            tx.query(
                "UPDATE tool_calls SET decided_at = ?, status = 'denied', error = ?, error_type = 'denied', \
                 completed_at = ? WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL",
            )
            .bind(now)
            .bind(error)
            .bind(now)
            .bind(id)
            .execute()
            .await?
        }
    };
    if claim.rows != 1 {
        return Ok(false);
    }
    let (decision, scope) = match verdict {
        NewVerdict::Approve { scope, .. } => (Decision::Approve, scope),
        NewVerdict::Deny { .. } => (Decision::Deny, None),
    };
    tx.query(
        "INSERT INTO approvals (tool_call_id, decision, decided_by, decided_by_kind, decided_by_user_id, \
         proposed_input, final_input, reason, scope, tool_hash, created_at) \
         SELECT id, ?, ?, ?, ?, COALESCE(proposed_input_text, input_text), CASE WHEN ? THEN input_text ELSE \
         NULL END, ?, ?, tool_hash, ? FROM tool_calls WHERE id = ?",
    )
    .bind(decision.as_str())
    .bind(decider.name())
    .bind(decider.kind().as_str())
    .bind(decider.user_id())
    .bind(decision == Decision::Approve)
    .bind(reason)
    .bind(scope.map(ApprovalScope::as_str))
    .bind(now)
    .bind(id)
    .execute()
    .await?;
    Ok(true)
}

/// Asks again for a decision on a waiting call, now with the tool's current hash.
pub(crate) async fn reset_pending_approval(tx: &mut Transaction, id: ToolCallId, tool_hash: &str) -> sqlx::Result<()> {
    let now = tx.now().await?;
    tx.query(
        "UPDATE tool_calls SET tool_hash = ?, started_at = ? \
         WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL",
    )
    .bind(tool_hash)
    .bind(now)
    .bind(id)
    .execute()
    .await
    .map(|_| ())
}

/// Returns calls by their IDs, whichever user owns them.
pub(crate) async fn find_calls(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<DecidableRow>> {
    db.reader()
        .list_by_ids(
            select!(
                "SELECT t.id, t.message_id, t.tool_name, t.status, t.decided_at, t.tool_hash, c.uuid, \
             c.user_id FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id WHERE c.deleted_at IS NULL AND t.id IN ("
            ),
            ids,
            ") ORDER BY t.id",
        )
        .await
}

/// Lists the calls of a turn that wait for a decision.
pub(crate) async fn list_waiting(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<ToolCallId>> {
    db.reader()
        .query(select!(
            "SELECT id FROM tool_calls \
             WHERE message_id = ? AND status = 'awaiting_approval' AND decided_at IS NULL ORDER BY step, position"
        ))
        .bind(message_id)
        .fetch_values()
        .await
}

/// Lists at most `limit` calls, after the call `after`, that have waited for a decision since before `time`.
pub(crate) async fn list_expired(
    db: &Database,
    time: DateTime<Utc>,
    after: ToolCallId,
    limit: u32,
) -> sqlx::Result<Vec<ToolCallId>> {
    db.reader()
        .query(select!(
            "SELECT t.id FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             WHERE t.status = 'awaiting_approval' AND t.decided_at IS NULL AND t.started_at < ? \
             AND m.status = 'awaiting_approval' AND t.id > ? ORDER BY t.id LIMIT ?"
        ))
        .bind(time)
        .bind(after)
        .bind(limit)
        .fetch_values()
        .await
}

/// Lists at most `limit` turns, after the message `after`, that can resume. Turns on which a user or the reviewers
/// decided after `time` are left out.
pub(crate) async fn list_decided_turns(
    db: &Database,
    time: DateTime<Utc>,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<DecidedTurn>> {
    db.reader()
        .query(select!(
            "SELECT m.id AS message_id, c.uuid, c.user_id FROM messages m \
             JOIN conversations c ON c.id = m.conversation_id WHERE m.status = 'awaiting_approval' \
             AND m.id > ? AND c.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM tool_calls t \
             WHERE t.message_id = m.id AND ((t.status = 'awaiting_approval' AND t.decided_at IS NULL) \
             OR (t.decided_at > ? AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.tool_call_id = t.id \
             AND a.decided_by_kind = 'timeout')))) ORDER BY m.id LIMIT ?"
        ))
        .bind(after)
        .bind(time)
        .bind(limit)
        .fetch_all()
        .await
}

/// Lists at most `limit` saved approvals of a user, newest first.
pub(crate) async fn list_saved(db: &Database, user: UserId, limit: u32) -> sqlx::Result<Vec<SavedApprovalRow>> {
    db.reader()
        .query(select!(
            "SELECT a.id, t.tool_name, a.scope, c.uuid, a.tool_call_id, a.decided_by, a.decided_by_kind, \
             a.decided_by_user_id, a.created_at \
             FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id \
             WHERE a.scope IN ('conversation', 'always') AND a.revoked_at IS NULL AND c.user_id = ? \
             AND c.deleted_at IS NULL ORDER BY a.created_at DESC, a.id DESC LIMIT ?"
        ))
        .bind(user)
        .bind(limit)
        .fetch_all()
        .await
}

/// Revokes a saved approval. Returns `false` if the user has no such approval.
pub(crate) async fn revoke(db: &Database, user: UserId, id: ApprovalId) -> sqlx::Result<bool> {
    // The inner query does not read `approvals`: MySQL refuses to read the table that a statement changes.
    let done = db
        .writer()
        .query(
            "UPDATE approvals SET revoked_at = ? \
             WHERE id = ? AND scope IN ('conversation', 'always') AND revoked_at IS NULL AND tool_call_id IN \
             (SELECT t.id FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id WHERE c.user_id = ? AND c.deleted_at IS NULL)",
        )
        .bind(now())
        .bind(id)
        .bind(user)
        .execute()
        .await?;
    Ok(done.rows == 1)
}
