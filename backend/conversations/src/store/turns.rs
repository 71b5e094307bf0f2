//! SQL that begins, resumes and ends turns, and renews their leases. A turn is the assistant's message row. A
//! conversation has at most one turn that runs or waits for approval, in `active_message_id`.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, is_unique_violation, now, select};
use tallybook_protocol::{AnswerMode, MessageId, MessagePart, MessageStatus};

use crate::store::{
    conversations::UNTITLED,
    rows::{ConversationId, MessageRow, PLAN_MODE},
    turn_settings::{TurnSettings, TurnSettingsRow, turn_settings_columns},
};

/// Value of `active_message_id` after the conversation is claimed and before the ID of the claiming message is known.
const CLAIMED: i64 = 0;

const CLAIM_AGAIN: &str = "UPDATE conversations SET active_message_id = ?, updated_at = ?, archived = FALSE \
     WHERE id = ? AND active_message_id IS NULL AND head_message_id = ? AND deleted_at IS NULL";

// For a turn that kept its claim while it waited for approval.
const KEEP_CLAIM: &str = "UPDATE conversations SET active_message_id = ?, updated_at = ?, archived = FALSE \
     WHERE id = ? AND active_message_id = ? AND deleted_at IS NULL";

const RELEASE: &str = "UPDATE conversations SET active_message_id = NULL, updated_at = ? \
     WHERE id = (SELECT conversation_id FROM messages WHERE id = ?) AND active_message_id = ?";

/// Epoch of a turn's first lease.
pub(crate) const FIRST_EPOCH: i32 = 1;

/// The messages and the epoch of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct TurnRows {
    pub user_message_id: MessageId,
    pub assistant_message_id: MessageId,
    /// When the answer was created.
    pub created_at: DateTime<Utc>,
    pub epoch: i32,
}

impl TurnRows {
    /// Returns the rows for the next run of an answer's turn, with the next epoch. Returns `None` if the message does
    /// not answer another one.
    pub(crate) fn next_epoch(answer: &MessageRow) -> Option<Self> {
        let user_message_id = answer.parent_id?;
        let MessageRow { id: assistant_message_id, created_at, epoch, .. } = *answer;
        Some(Self { user_message_id, assistant_message_id, created_at, epoch: epoch + 1 })
    }
}

/// A turn whose owner did not renew the lease.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct AbandonedTurn {
    pub conversation_id: ConversationId,
    pub message_id: MessageId,
    pub user_message_id: Option<MessageId>,
    pub user_id: UserId,
    pub epoch: i32,
}

/// The result of an attempt to begin a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The turn has begun. `has_documents` of its settings does not count the files of a new question, which the caller
    /// stores. `is_first` is `true` if the conversation had no messages before.
    Started { rows: TurnRows, settings: TurnSettings, is_first: bool },
    /// The message was sent before; this is its turn.
    Duplicate(TurnRows),
    /// Another turn has claimed the conversation.
    Busy,
}

/// The question that a turn answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    /// A new message.
    New { parts: &'a [MessagePart], client_message_id: Option<&'a str>, below: Parent },
    /// A message that is stored already.
    Stored { user_message_id: MessageId },
}

/// The position of a new message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// At the end of the branch that is shown.
    Head,
    /// Below this message; `None` for the beginning of the conversation.
    Message(Option<MessageId>),
}

/// The parameters of a new turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTurn<'a> {
    pub question: Question<'a>,
    /// Title for a conversation that has none yet.
    pub first_title: Option<&'a str>,
    /// Catalog name of the model that answers.
    pub model: &'a str,
    pub mode: AnswerMode,
    pub owner: &'a str,
    /// Lease duration.
    pub lease: Duration,
}

/// The state from which a turn resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeReason {
    /// The turn was interrupted, stopped, or has failed.
    Interrupted,
    /// The turn waited for approval, and all its calls are decided.
    Approved,
}

/// The parameters of a turn that resumes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumeParams<'a> {
    pub after: ResumeReason,
    /// The text that the turn keeps.
    pub content: &'a str,
    /// Catalog name of the model that answers from here on.
    pub model: &'a str,
    pub owner: &'a str,
    /// Lease duration.
    pub lease: Duration,
}

/// The final state of a run of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnEnd<'a> {
    pub content: &'a str,
    pub status: MessageStatus,
    pub error: Option<&'a str>,
    pub error_code: Option<&'a str>,
    pub stop_reason: Option<&'a str>,
    /// Duration of this run.
    pub active: Duration,
}

/// Claims the conversation and stores the assistant's message, and the user's if it is new. Removes the conversation
/// from the archive. Nothing is permanent before the commit.
pub(crate) async fn begin_turn(
    tx: &mut Transaction,
    conversation_id: ConversationId,
    new: NewTurn<'_>,
) -> sqlx::Result<Claim> {
    // The claim comes first, because it locks the row. Two transactions that insert messages first would deadlock when
    // they claim.
    let claimed = tx
        .query(
            "UPDATE conversations SET active_message_id = ? \
             WHERE id = ? AND active_message_id IS NULL AND deleted_at IS NULL",
        )
        .bind(CLAIMED)
        .bind(conversation_id)
        .execute()
        .await?;
    if claimed.rows != 1 {
        let known = find_duplicate(tx, conversation_id, new.question).await?;
        return Ok(known.map_or(Claim::Busy, Claim::Duplicate));
    }
    let ClaimedRow { head_message_id, newest, settings } = tx
        .query(concat!(
            "SELECT c.head_message_id, (SELECT MAX(m.created_at) FROM messages m WHERE m.conversation_id = c.id) \
             AS newest, ",
            turn_settings_columns!(),
            " FROM conversations c JOIN users u ON u.id = c.user_id WHERE c.id = ?"
        ))
        .bind(conversation_id)
        .fetch_one()
        .await?;
    let now = after(newest, now());
    let user_message_id = match new.question {
        Question::Stored { user_message_id } => user_message_id,
        Question::New { parts, client_message_id, below } => {
            let parent_id = match below {
                Parent::Message(id) => id,
                Parent::Head => head_message_id,
            };
            let created = tx
                .query(
                    "INSERT INTO messages (conversation_id, parent_id, role, content, parts, status, \
                     client_message_id, created_at, completed_at) \
                     VALUES (?, ?, 'user', ?, ?, 'complete', ?, ?, ?)",
                )
                .bind(conversation_id)
                .bind(parent_id)
                .bind(MessagePart::join_texts(parts))
                .bind(several(parts)?)
                .bind(client_message_id)
                .bind(now)
                .bind(now)
                .execute()
                .await;
            match created {
                // The only unique columns are the conversation and the client's ID. Almost no message is sent twice, so
                // the index finds out, instead of a statement before each message.
                Err(error) if is_unique_violation(&error) => {
                    let known = find_duplicate(tx, conversation_id, new.question).await?;
                    return known.map(Claim::Duplicate).ok_or(error);
                }
                created => MessageId(created?.inserted_id),
            }
        }
    };
    let created_at = after(Some(now), now);
    let mut answer = tx
        .query(
            "INSERT INTO messages \
             (conversation_id, parent_id, role, content, status, model, mode, owner, epoch, created_at, lease_until) \
             VALUES (?, ?, 'assistant', '', 'streaming', ?, ?, ?, ?, ?, ",
        )
        .bind(conversation_id)
        .bind(user_message_id)
        .bind(new.model)
        .bind((new.mode == AnswerMode::Plan).then_some(PLAN_MODE))
        .bind(new.owner)
        .bind(FIRST_EPOCH)
        .bind(created_at);
    answer.push_time_after(new.lease).push(")");
    let assistant_message_id = answer.execute().await.map(|done| MessageId(done.inserted_id))?;
    tx.query(
        "UPDATE conversations SET active_message_id = ?, head_message_id = ?, updated_at = ?, \
         archived = FALSE, title = CASE WHEN title = ? THEN ? ELSE title END WHERE id = ?",
    )
    .bind(assistant_message_id)
    .bind(assistant_message_id)
    .bind(now)
    .bind(new.first_title.map(|_| UNTITLED))
    .bind(new.first_title)
    .bind(conversation_id)
    .execute()
    .await?;
    let rows = TurnRows { user_message_id, assistant_message_id, created_at, epoch: FIRST_EPOCH };
    Ok(Claim::Started { rows, settings: settings.into(), is_first: newest.is_none() })
}

/// Returns the turn of a message that was sent before with the same `client_message_id`.
async fn find_duplicate(
    tx: &mut Transaction,
    conversation_id: ConversationId,
    question: Question<'_>,
) -> sqlx::Result<Option<TurnRows>> {
    let Question::New { client_message_id: Some(client_id), .. } = question else { return Ok(None) };
    tx.query(
        "SELECT u.id AS user_message_id, a.id AS assistant_message_id, a.created_at, a.epoch \
         FROM messages u JOIN messages a ON a.parent_id = u.id AND a.role = 'assistant' \
         WHERE u.conversation_id = ? AND u.client_message_id = ? ORDER BY a.created_at, a.id LIMIT 1",
    )
    .bind(conversation_id)
    .bind(client_id)
    .fetch_optional()
    .await
}

/// A conversation that a new turn has claimed.
#[derive(Debug, sqlx::FromRow)]
struct ClaimedRow {
    head_message_id: Option<MessageId>,
    /// When its newest message was stored, by any replica's clock.
    newest: Option<DateTime<Utc>>,
    #[sqlx(flatten)]
    settings: TurnSettingsRow,
}

/// Returns the parts of a message as JSON, to be stored beside its content. Returns `None` for a single text, which the
/// content holds.
fn several(parts: &[MessagePart]) -> sqlx::Result<Option<String>> {
    let is_text = matches!(parts, [MessagePart::Text { .. }]);
    let several = (!is_text).then(|| serde_json::to_string(parts)).transpose();
    several.map_err(|error| sqlx::Error::Encode(error.into()))
}

/// Returns `now`, or a time just after `newest` if that is later. Replicas' clocks differ, and an answer must sort
/// after its question.
fn after(newest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    newest.map_or(now, |newest| now.max(newest + TimeDelta::microseconds(1)))
}

/// Claims the conversation for a turn that resumes, under a new epoch. Returns `false` if another change of the turn or
/// the conversation came first.
pub(crate) async fn resume_turn(
    tx: &mut Transaction,
    conversation_id: ConversationId,
    turn: TurnRows,
    again: ResumeParams<'_>,
) -> sqlx::Result<bool> {
    let ResumeParams { after, content, model, owner, lease } = again;
    tx.check_statement_size(content.len()).await?;
    let message_id = turn.assistant_message_id;
    let (claim, set, condition) = match after {
        ResumeReason::Interrupted => (
            CLAIM_AGAIN,
            "UPDATE messages SET error = NULL, error_code = NULL, stop_reason = NULL, completed_at = NULL, \
             active_ms = 0, ",
            " AND status IN ('interrupted', 'stopped', 'failed')",
        ),
        ResumeReason::Approved => (KEEP_CLAIM, "UPDATE messages SET ", " AND status = 'awaiting_approval'"),
    };
    let claim = tx.query(claim).bind(message_id).bind(now()).bind(conversation_id).bind(message_id);
    if claim.execute().await?.rows != 1 {
        return Ok(false);
    }
    let mut update = tx.query(set);
    update.push("status = 'streaming', stop_requested_at = NULL, content = ").push_bind(content);
    update.push(", model = ").push_bind(model).push(", owner = ").push_bind(owner);
    update.push(", epoch = ").push_bind(turn.epoch).push(", lease_until = ").push_time_after(lease);
    update.push(" WHERE id = ").push_bind(message_id).push(" AND epoch = ").push_bind(turn.epoch - 1).push(condition);
    Ok(update.execute().await?.rows == 1)
}

/// Stops a turn that waits for approval, under a new epoch, and releases its conversation. Returns `false` if the turn
/// no longer waits.
pub(crate) async fn stop_waiting_turn(tx: &mut Transaction, message_id: MessageId, epoch: i32) -> sqlx::Result<bool> {
    let now = now();
    let stop = tx
        .query(
            "UPDATE messages SET status = 'stopped', epoch = ?, completed_at = ? \
             WHERE id = ? AND epoch = ? AND status = 'awaiting_approval'",
        )
        .bind(epoch)
        .bind(now)
        .bind(message_id)
        .bind(epoch - 1);
    if stop.execute().await?.rows != 1 {
        return Ok(false);
    }
    tx.query(RELEASE).bind(now).bind(message_id).bind(message_id).execute().await?;
    Ok(true)
}

/// Returns how long a turn has run since it began, or since a user last resumed it.
pub(crate) async fn find_active(db: &Database, message_id: MessageId) -> sqlx::Result<Duration> {
    let active_ms: i64 = db
        .reader()
        .query(select!("SELECT active_ms FROM messages WHERE id = ?"))
        .bind(message_id)
        .fetch_value()
        .await?;
    Ok(Duration::from_millis(u64::try_from(active_ms).unwrap_or(0)))
}

/// Locks turns, each identified by its answer and epoch, so that they stay with their owners until the transaction
/// ends. Returns `false` if one of them no longer runs under this epoch. `turns` must not be empty.
pub(crate) async fn lock_turns(tx: &mut Transaction, turns: &[(MessageId, i32)]) -> sqlx::Result<bool> {
    // Changes nothing, but locks the rows: until the commit no other process can end these turns.
    let mut lock = tx.query("UPDATE messages SET owner = owner WHERE status = 'streaming' AND (");
    for (index, (message_id, epoch)) in turns.iter().enumerate() {
        lock.push(if index == 0 { "(id = ? AND epoch = ?)" } else { " OR (id = ? AND epoch = ?)" });
        lock = lock.bind(*message_id).bind(*epoch);
    }
    lock.push(")");
    let done = lock.execute().await?;
    Ok(done.rows == turns.len() as u64)
}

/// Renews a turn's lease. Returns `false` if the turn no longer belongs to this owner.
pub(crate) async fn renew_lease(
    db: &Database,
    message_id: MessageId,
    epoch: i32,
    lease: Duration,
) -> sqlx::Result<bool> {
    let mut renew = db.writer().query("UPDATE messages SET lease_until = ");
    renew.push_time_after(lease).push(" WHERE id = ").push_bind(message_id);
    renew.push(" AND epoch = ").push_bind(epoch).push(" AND status = 'streaming'");
    Ok(renew.execute().await?.rows == 1)
}

/// Asks the owner of a turn to stop it. Returns `false` if the turn does not run any more, or if a stop was requested
/// before.
pub(crate) async fn request_stop(db: &Database, message_id: MessageId) -> sqlx::Result<bool> {
    let done = db
        .writer()
        .query(
            "UPDATE messages SET stop_requested_at = ? WHERE id = ? AND status = 'streaming' \
             AND stop_requested_at IS NULL",
        )
        .bind(now())
        .bind(message_id)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Lists this owner's turns for which a stop was requested.
pub(crate) async fn list_stop_requests(db: &Database, owner: &str) -> sqlx::Result<Vec<MessageId>> {
    db.reader()
        .query(select!(
            "SELECT id FROM messages WHERE status = 'streaming' AND owner = ? AND stop_requested_at IS NOT NULL"
        ))
        .bind(owner)
        .fetch_values()
        .await
}

/// Stores the end of a turn's run and releases its conversation. A turn that waits for approval is not over, and keeps
/// the conversation. Returns `false` if the turn was ended before.
pub(crate) async fn end_turn(
    tx: &mut Transaction,
    message_id: MessageId,
    epoch: i32,
    end: TurnEnd<'_>,
) -> sqlx::Result<bool> {
    tx.check_statement_size(end.content.len()).await?;
    let now = now();
    let is_over = end.status != MessageStatus::AwaitingApproval;
    let ended = tx
        .query(
            "UPDATE messages SET content = ?, status = ?, error = ?, error_code = ?, stop_reason = ?, \
             completed_at = ?, active_ms = active_ms + ?, lease_until = NULL \
             WHERE id = ? AND epoch = ? AND status = 'streaming'",
        )
        .bind(end.content)
        .bind(end.status.as_str())
        .bind(end.error)
        .bind(end.error_code)
        .bind(end.stop_reason)
        .bind(is_over.then_some(now))
        .bind(i64::try_from(end.active.as_millis()).unwrap_or(i64::MAX))
        .bind(message_id)
        .bind(epoch)
        .execute()
        .await?;
    if ended.rows != 1 {
        return Ok(false);
    }
    if is_over {
        tx.query(RELEASE).bind(now).bind(message_id).bind(message_id).execute().await?;
    } else {
        tx.query(
            "UPDATE conversations SET updated_at = ? \
             WHERE id = (SELECT conversation_id FROM messages WHERE id = ?)",
        )
        .bind(now)
        .bind(message_id)
        .execute()
        .await?;
    }
    Ok(true)
}

/// Lists at most `limit` turns, after the message `after`, whose lease expired before `time` by the database's clock.
pub(crate) async fn list_abandoned_turns(
    db: &Database,
    time: DateTime<Utc>,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<AbandonedTurn>> {
    db.reader()
        .query(select!(
            "SELECT m.conversation_id, m.id AS message_id, m.parent_id AS user_message_id, c.user_id, m.epoch \
             FROM messages m JOIN conversations c ON c.id = m.conversation_id \
             WHERE m.status = 'streaming' AND (m.lease_until IS NULL OR m.lease_until < ?) \
             AND m.id > ? ORDER BY m.id LIMIT ?"
        ))
        .bind(time)
        .bind(after)
        .bind(limit)
        .fetch_all()
        .await
}
