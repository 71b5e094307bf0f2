//! SQL on consent: calls that wait, writing the decisions on them (`approvals`), and the approvals that stand.

use chrono::{DateTime, Utc};
use tallybook_agent::StartedToolCall;
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{ApprovalId, ApprovalScope, DeciderKind, Decision, MessageId, ToolCallId, ToolCallStatus};
use uuid::Uuid;

use super::{columns::json_column, decisions::Decider, list_of::list_of, tool_calls::create_tool_call, turns};
use crate::accounts::UserId;

const ASK_ANEW: &str = "UPDATE tool_calls SET tool_hash = ?, decided_at = NULL, started_at = ? \
     WHERE id = ? AND status = 'awaiting_approval'";

const ASK_WAITING_ANEW: &str = "UPDATE tool_calls SET tool_hash = ?, started_at = ? \
     WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL";

const START_APPROVED: &str = "UPDATE tool_calls SET status = 'pending', started_at = ? \
     WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NOT NULL";

const COUNT_STANDING: &str = "SELECT COUNT(*) FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id \
     JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     JOIN messages here ON here.id = ? JOIN conversations own ON own.id = here.conversation_id \
     WHERE a.scope IN ('conversation', 'always') AND a.revoked_at IS NULL AND a.decision = 'approve' \
     AND a.tool_hash = ? AND t.tool_name = ? AND c.user_id = own.user_id AND (a.scope = 'always' OR c.id = own.id) \
     AND c.deleted_at IS NULL";

// Of two who decide on a call, one changes its row.
const APPROVE: &str = "UPDATE tool_calls SET decided_at = ? \
     WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL AND tool_hash = ?";

// The engines that assign one column after the other need the proposal first.
const APPROVE_EDITED: &str = "UPDATE tool_calls SET decided_at = ?, \
     proposed_input_text = COALESCE(proposed_input_text, input_text), input = ?, input_text = ? \
     WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL AND tool_hash = ?";

const DENY: &str = "UPDATE tool_calls SET decided_at = ?, status = 'denied', error = ?, error_type = 'denied', \
     completed_at = ? WHERE id = ? AND status = 'awaiting_approval' AND decided_at IS NULL";

const CREATE_APPROVAL: &str = "INSERT INTO approvals \
     (tool_call_id, decision, decided_by, decided_by_kind, decided_by_user_id, proposed_input, final_input, reason, scope, \
     tool_hash, created_at) SELECT id, ?, ?, ?, ?, COALESCE(proposed_input_text, input_text), CASE WHEN ? THEN input_text ELSE NULL END, ?, ?, \
     tool_hash, ? FROM tool_calls WHERE id = ?";

const FIND_CALLS: &str = "SELECT t.id, t.message_id, t.tool_name, t.status, t.decided_at, t.tool_hash, c.uuid, c.user_id \
     FROM tool_calls t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     WHERE c.deleted_at IS NULL AND t.id IN (";

const LIST_WAITING: &str = "SELECT id FROM tool_calls \
     WHERE message_id = ? AND status = 'awaiting_approval' AND decided_at IS NULL ORDER BY step, position";

const LIST_EXPIRED: &str = "SELECT t.id FROM tool_calls t JOIN messages m ON m.id = t.message_id \
     WHERE t.status = 'awaiting_approval' AND t.decided_at IS NULL AND t.started_at < ? \
     AND m.status = 'awaiting_approval' AND t.id > ? ORDER BY t.id LIMIT ?";

const LIST_DECIDED_TURNS: &str = "SELECT m.id AS message_id, c.uuid, c.user_id \
     FROM messages m JOIN conversations c ON c.id = m.conversation_id \
     WHERE m.status = 'awaiting_approval' AND m.id > ? AND c.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM tool_calls t \
     WHERE t.message_id = m.id AND ((t.status = 'awaiting_approval' AND t.decided_at IS NULL) OR (t.decided_at > ? \
     AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.tool_call_id = t.id AND a.decided_by_kind = 'timeout')))) \
     ORDER BY m.id LIMIT ?";

const LIST_STANDING: &str = "SELECT a.id, t.tool_name, a.scope, c.uuid, a.tool_call_id, a.decided_by, a.decided_by_kind, \
     a.decided_by_user_id, a.created_at \
     FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id JOIN messages m ON m.id = t.message_id \
     JOIN conversations c ON c.id = m.conversation_id \
     WHERE a.scope IN ('conversation', 'always') AND a.revoked_at IS NULL AND c.user_id = ? \
     AND c.deleted_at IS NULL ORDER BY a.created_at DESC, a.id DESC LIMIT ?";

// The inner query reads none of the table that is changed, which MySQL would refuse.
const REVOKE: &str = "UPDATE approvals SET revoked_at = ? \
     WHERE id = ? AND scope IN ('conversation', 'always') AND revoked_at IS NULL AND tool_call_id IN \
     (SELECT t.id FROM tool_calls t JOIN messages m ON m.id = t.message_id \
     JOIN conversations c ON c.id = m.conversation_id WHERE c.user_id = ? AND c.deleted_at IS NULL)";

/// A call, whose it is, and whether somebody has decided on it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecidableRow {
    pub(crate) id: ToolCallId,
    pub(crate) message_id: MessageId,
    pub(crate) tool_name: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) decided_at: Option<DateTime<Utc>>,
    pub(crate) tool_hash: Option<String>,
    /// Of its conversation.
    #[sqlx(try_from = "String")]
    pub(crate) uuid: Uuid,
    pub(crate) user_id: UserId,
}

impl DecidableRow {
    pub(crate) fn is_waiting(&self) -> bool {
        self.status == ToolCallStatus::AwaitingApproval && self.decided_at.is_none()
    }
}

/// A decision that is to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewApproval<'a> {
    pub(crate) tool_call_id: ToolCallId,
    pub(crate) decider: Decider<'a>,
    pub(crate) decided_at: DateTime<Utc>,
    pub(crate) reason: Option<&'a str>,
    pub(crate) verdict: NewVerdict<'a>,
}

/// What is decided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewVerdict<'a> {
    /// It may run, if its tool is still the one with this hash.
    Approve { tool_hash: &'a str, input: Option<&'a str>, scope: Option<ApprovalScope> },
    /// It may not; `error` says so to the model and to readers.
    Deny { error: &'a str },
}

/// A turn that waits for nothing any more.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DecidedTurn {
    pub(crate) message_id: MessageId,
    pub(crate) uuid: String,
    pub(crate) user_id: UserId,
}

/// An approval that reaches beyond its own call.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct StandingRow {
    pub(crate) id: ApprovalId,
    pub(crate) tool_name: String,
    #[sqlx(try_from = "String")]
    pub(crate) scope: ApprovalScope,
    pub(crate) uuid: String,
    pub(crate) tool_call_id: ToolCallId,
    pub(crate) decided_by: String,
    #[sqlx(try_from = "Option<String>")]
    pub(crate) decided_by_kind: DeciderKind,
    pub(crate) decided_by_user_id: Option<i64>,
    pub(crate) created_at: DateTime<Utc>,
}

/// Stores a call that waits for a decision, or asks again for a stored one. Returns its id, or `None` if the stored call no longer waits.
pub(crate) async fn create_waiting_call(
    tx: &mut Transaction,
    message_id: MessageId,
    call: &StartedToolCall<'_>,
    text_offset: i64,
    tool_hash: &str,
    at: DateTime<Utc>,
) -> sqlx::Result<Option<ToolCallId>> {
    if let Some(id) = call.waited {
        let done = tx.query(ASK_ANEW).bind(tool_hash).bind(at).bind(id).execute().await?;
        return Ok((done.rows == 1).then_some(id));
    }
    create_tool_call(tx, message_id, call, text_offset, Some(tool_hash), at).await.map(Some)
}

/// Stores that a call which was approved is about to run. False when it does not wait, or nobody has decided on it.
pub(crate) async fn start_approved_call(
    tx: &mut Transaction,
    id: ToolCallId,
    started_at: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = tx.query(START_APPROVED).bind(started_at).bind(id).execute().await?;
    Ok(done.rows == 1)
}

/// Whether a tool was approved for good, for the conversation of this message or for its user; not when it was another one
/// then.
pub(crate) async fn is_approved_for_good(
    db: &Database,
    message_id: MessageId,
    tool_name: &str,
    tool_hash: &str,
) -> sqlx::Result<bool> {
    let count: i64 = {
        db.reader().query(select!(COUNT_STANDING)).bind(message_id).bind(tool_hash).bind(tool_name).fetch_value().await
    }?;
    Ok(count > 0)
}

/// Takes down a decision. False when the call waits for none any more, or is to be approved as another tool than it is.
pub(crate) async fn create_approval(tx: &mut Transaction, new: NewApproval<'_>) -> sqlx::Result<bool> {
    let NewApproval { tool_call_id: id, decider, decided_at: now, reason, verdict } = new;
    let claim = match verdict {
        NewVerdict::Approve { tool_hash, input: None, .. } => {
            tx.query(APPROVE).bind(now).bind(id).bind(tool_hash).execute().await?
        }
        NewVerdict::Approve { tool_hash, input: Some(input), .. } => {
            let edit = tx.query(APPROVE_EDITED).bind(now).bind(json_column(input).as_str().to_owned()).bind(input);
            edit.bind(id).bind(tool_hash).execute().await?
        }
        NewVerdict::Deny { error } => tx.query(DENY).bind(now).bind(error).bind(now).bind(id).execute().await?,
    };
    if claim.rows != 1 {
        return Ok(false);
    }
    let (decision, scope) = match verdict {
        NewVerdict::Approve { scope, .. } => (Decision::Approve, scope),
        NewVerdict::Deny { .. } => (Decision::Deny, None),
    };
    tx.query(CREATE_APPROVAL)
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

/// Has a call that waits wait for a decision on the tool as it is now.
pub(crate) async fn ask_waiting_anew(tx: &mut Transaction, id: ToolCallId, tool_hash: &str) -> sqlx::Result<()> {
    let now = turns::database_now_in(tx).await?;
    tx.query(ASK_WAITING_ANEW).bind(tool_hash).bind(now).bind(id).execute().await.map(|_| ())
}

/// Calls by their keys, whosever they are.
pub(crate) async fn find_calls(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<DecidableRow>> {
    list_of(db, select!(FIND_CALLS), ids, ") ORDER BY t.id").await
}

/// Those calls of a turn on which nobody has decided.
pub(crate) async fn list_waiting(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<ToolCallId>> {
    db.reader().query(select!(LIST_WAITING)).bind(message_id).fetch_values().await
}

/// At most `limit` calls that have waited since before `time`.
pub(crate) async fn list_expired(
    db: &Database,
    time: DateTime<Utc>,
    after: ToolCallId,
    limit: u32,
) -> sqlx::Result<Vec<ToolCallId>> {
    db.reader().query(select!(LIST_EXPIRED)).bind(time).bind(after).bind(limit).fetch_values().await
}

/// At most `limit` turns after the message `after` that may go on, and on which no person and no reviewer decided after `time`.
pub(crate) async fn list_decided_turns(
    db: &Database,
    time: DateTime<Utc>,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<DecidedTurn>> {
    db.reader().query(select!(LIST_DECIDED_TURNS)).bind(after).bind(time).bind(limit).fetch_all().await
}

/// A user's approvals that reach beyond their own calls, at most `limit`, the newest first.
pub(crate) async fn list_standing(db: &Database, user: UserId, limit: u32) -> sqlx::Result<Vec<StandingRow>> {
    db.reader().query(select!(LIST_STANDING)).bind(user).bind(limit).fetch_all().await
}

/// Revokes one of them. False when there is none of this key.
pub(crate) async fn revoke(db: &Database, user: UserId, id: ApprovalId) -> sqlx::Result<bool> {
    let done = db.writer().query(REVOKE).bind(now()).bind(id).bind(user).execute().await?;
    Ok(done.rows == 1)
}
