//! SQL that begins, keeps and ends turns. A turn is the assistant's message row; a conversation has at most one that
//! runs or waits for consent, in `active_message_id`.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{AnswerMode, MessageId, MessagePart, MessageStatus};

use super::{
    conversations::UNTITLED,
    rows::{ConversationId, MessageRow, PLAN_MODE},
};
use crate::accounts::UserId;

/// Stands in `active_message_id` between claiming a conversation and knowing the key of the message that claims it.
const CLAIMED: i64 = 0;

// The claim comes first: it takes the row's lock, which two transactions that began by inserting messages could only
// take from each other in a deadlock.
const CLAIM: &str = "UPDATE conversations SET active_message_id = ? \
     WHERE id = ? AND active_message_id IS NULL AND deleted_at IS NULL";

// Beside it, when something was written there last, by whichever clock.
const HEAD: &str = "SELECT head_message_id, (SELECT MAX(m.created_at) FROM messages m WHERE m.conversation_id = c.id) \
     FROM conversations c WHERE c.id = ?";

const SET_ACTIVE: &str = "UPDATE conversations SET active_message_id = ?, head_message_id = ?, updated_at = ?, \
     archived = FALSE, title = CASE WHEN title = ? THEN ? ELSE title END WHERE id = ?";

const CREATE_USER_MESSAGE: &str = "INSERT INTO messages \
     (conversation_id, parent_id, role, content, parts, status, client_message_id, created_at, completed_at) \
     VALUES (?, ?, 'user', ?, ?, 'complete', ?, ?, ?)";

const CREATE_TURN: &str = "INSERT INTO messages \
     (conversation_id, parent_id, role, content, status, model, mode, owner, epoch, lease_until, created_at) \
     VALUES (?, ?, 'assistant', '', 'streaming', ?, ?, ?, ?, ?, ?)";

const CLAIM_AGAIN: &str = "UPDATE conversations SET active_message_id = ?, updated_at = ?, archived = FALSE \
     WHERE id = ? AND active_message_id IS NULL AND head_message_id = ? AND deleted_at IS NULL";

const CONTINUE_TURN: &str = "UPDATE messages SET content = ?, status = 'streaming', error = NULL, error_code = NULL, \
     stop_reason = NULL, completed_at = NULL, stop_requested_at = NULL, model = ?, owner = ?, epoch = ?, \
     lease_until = ?, active_ms = 0 \
     WHERE id = ? AND epoch = ? AND status IN ('interrupted', 'stopped', 'failed')";

// The turn has kept its claim.
const KEEP_CLAIM: &str = "UPDATE conversations SET active_message_id = ?, updated_at = ?, archived = FALSE \
     WHERE id = ? AND active_message_id = ? AND deleted_at IS NULL";

const CONTINUE_WAITING_TURN: &str = "UPDATE messages SET content = ?, status = 'streaming', stop_requested_at = NULL, \
     model = ?, owner = ?, epoch = ?, lease_until = ? WHERE id = ? AND epoch = ? AND status = 'awaiting_approval'";

const STOP_WAITING_TURN: &str = "UPDATE messages SET status = 'stopped', epoch = ?, completed_at = ? \
     WHERE id = ? AND epoch = ? AND status = 'awaiting_approval'";

const FIND_ACTIVE_MS: &str = "SELECT active_ms FROM messages WHERE id = ?";

const FIND_BY_CLIENT_ID: &str = "SELECT u.id AS user_message_id, a.id AS assistant_message_id, a.created_at, a.epoch \
     FROM messages u JOIN messages a ON a.parent_id = u.id AND a.role = 'assistant' \
     WHERE u.conversation_id = ? AND u.client_message_id = ? ORDER BY a.created_at, a.id LIMIT 1";

// Changes nothing, but takes the rows' locks: until the commit nobody else can end these turns.
const LOCK_TURNS: &str = "UPDATE messages SET owner = owner WHERE status = 'streaming' AND (";

const RENEW_LEASE: &str = "UPDATE messages SET lease_until = ? WHERE id = ? AND epoch = ? AND status = 'streaming'";

const REQUEST_STOP: &str =
    "UPDATE messages SET stop_requested_at = ? WHERE id = ? AND status = 'streaming' AND stop_requested_at IS NULL";

const LIST_STOP_REQUESTS: &str =
    "SELECT id FROM messages WHERE status = 'streaming' AND owner = ? AND stop_requested_at IS NOT NULL";

const END_TURN: &str = "UPDATE messages SET content = ?, status = ?, error = ?, error_code = ?, stop_reason = ?, \
     completed_at = ?, active_ms = active_ms + ?, lease_until = NULL \
     WHERE id = ? AND epoch = ? AND status = 'streaming'";

const TOUCH: &str = "UPDATE conversations SET updated_at = ? \
     WHERE id = (SELECT conversation_id FROM messages WHERE id = ?)";

const RELEASE: &str = "UPDATE conversations SET active_message_id = NULL, updated_at = ? \
     WHERE id = (SELECT conversation_id FROM messages WHERE id = ?) AND active_message_id = ?";

const LIST_ABANDONED: &str = "SELECT m.id AS message_id, m.parent_id AS user_message_id, c.user_id, m.epoch \
     FROM messages m JOIN conversations c ON c.id = m.conversation_id \
     WHERE m.status = 'streaming' AND (m.lease_until IS NULL OR m.lease_until < ?) AND m.id > ? ORDER BY m.id LIMIT ?";

/// The lease's epoch of a turn's first owner.
pub(crate) const FIRST_EPOCH: i32 = 1;

/// The rows of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct TurnRows {
    pub(crate) user_message_id: MessageId,
    pub(crate) assistant_message_id: MessageId,
    /// Of the answer.
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) epoch: i32,
}

impl TurnRows {
    /// Those of an answer's turn when it goes on. `None` for a message that answers nothing.
    pub(crate) fn of_next_run(answer: &MessageRow) -> Option<Self> {
        let user_message_id = answer.parent_id?;
        let MessageRow { id: assistant_message_id, created_at, epoch, .. } = *answer;
        Some(Self { user_message_id, assistant_message_id, created_at, epoch: epoch + 1 })
    }
}

/// A turn whose owner is gone.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct AbandonedTurn {
    pub(crate) message_id: MessageId,
    pub(crate) user_message_id: Option<MessageId>,
    pub(crate) user_id: UserId,
    pub(crate) epoch: i32,
}

/// What came of an attempt to begin a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is begun.
    Begun(TurnRows),
    /// The same message was sent before; this is its turn.
    Duplicate(TurnRows),
    /// Another turn runs.
    Busy,
}

/// What a turn answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    /// A new message.
    New { parts: &'a [MessagePart], client_message_id: Option<&'a str>, below: Below },
    /// One that is stored.
    Stored { user_message_id: MessageId },
}

/// Where a new message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// At the end of the branch that is shown.
    Head,
    /// Below this message; at the beginning when there is none.
    Message(Option<MessageId>),
}

/// What a turn begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTurn<'a> {
    pub(crate) question: Question<'a>,
    /// The title of a conversation that has none as yet.
    pub(crate) first_title: Option<&'a str>,
    /// The catalog's name of the model that answers.
    pub(crate) model: &'a str,
    pub(crate) mode: AnswerMode,
    pub(crate) owner: &'a str,
    /// How long the owner may be silent.
    pub(crate) lease: Duration,
}

/// What a turn goes on after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It was cut off.
    CutOff,
    /// It waited for consent, and nothing of it waits any more.
    Consent,
}

/// How a turn goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnAgain<'a> {
    pub(crate) after: After,
    /// The text that it keeps.
    pub(crate) content: &'a str,
    /// The catalog's name of the model that answers from here on.
    pub(crate) model: &'a str,
    pub(crate) owner: &'a str,
    /// As in [`NewTurn::lease`].
    pub(crate) lease: Duration,
}

/// How a turn is written down when it is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnEnd<'a> {
    pub(crate) content: &'a str,
    pub(crate) status: MessageStatus,
    pub(crate) error: Option<&'a str>,
    pub(crate) error_code: Option<&'a str>,
    pub(crate) stop_reason: Option<&'a str>,
    /// How long this run of it took.
    pub(crate) active: Duration,
}

/// Claims the conversation and stores the assistant's message, and the user's when it is new. Takes the conversation out
/// of the archive. Nothing lasts before the commit.
pub(crate) async fn begin_turn(
    tx: &mut Transaction,
    conversation_id: ConversationId,
    new: NewTurn<'_>,
) -> sqlx::Result<Claim> {
    let lease_until = database_now_in(tx).await? + new.lease;
    let claimed = tx.query(CLAIM).bind(CLAIMED).bind(conversation_id).execute().await?;
    if let Question::New { client_message_id: Some(client_id), .. } = new.question {
        let known = tx.query(FIND_BY_CLIENT_ID).bind(conversation_id).bind(client_id);
        if let Some(rows) = known.fetch_optional().await? {
            return Ok(Claim::Duplicate(rows));
        }
    }
    if claimed.rows != 1 {
        return Ok(Claim::Busy);
    }
    let head = tx.query(HEAD).bind(conversation_id).fetch_one();
    let (head, newest): (Option<MessageId>, Option<DateTime<Utc>>) = head.await?;
    let now = after(newest, now());
    let user_message_id = match new.question {
        Question::Stored { user_message_id } => user_message_id,
        Question::New { parts, client_message_id, below } => {
            let parent_id = match below {
                Below::Message(id) => id,
                Below::Head => head,
            };
            tx.query(CREATE_USER_MESSAGE)
                .bind(conversation_id)
                .bind(parent_id)
                .bind(MessagePart::join_texts(parts))
                .bind(several(parts)?)
                .bind(client_message_id)
                .bind(now)
                .bind(now)
                .execute()
                .await
                .map(|done| MessageId(done.inserted_id))?
        }
    };
    let created_at = after(Some(now), now);
    let assistant_message_id = tx
        .query(CREATE_TURN)
        .bind(conversation_id)
        .bind(user_message_id)
        .bind(new.model)
        .bind((new.mode == AnswerMode::Plan).then_some(PLAN_MODE))
        .bind(new.owner)
        .bind(FIRST_EPOCH)
        .bind(lease_until)
        .bind(created_at)
        .execute()
        .await
        .map(|done| MessageId(done.inserted_id))?;
    tx.query(SET_ACTIVE)
        .bind(assistant_message_id)
        .bind(assistant_message_id)
        .bind(now)
        .bind(new.first_title.map(|_| UNTITLED))
        .bind(new.first_title)
        .bind(conversation_id)
        .execute()
        .await?;
    Ok(Claim::Begun(TurnRows { user_message_id, assistant_message_id, created_at, epoch: FIRST_EPOCH }))
}

/// The parts of a message as they are stored beside its content: where there is one, that is all there is to it.
fn several(parts: &[MessagePart]) -> sqlx::Result<Option<String>> {
    let several = (parts.len() > 1).then(|| serde_json::to_string(parts)).transpose();
    several.map_err(|error| sqlx::Error::Encode(error.into()))
}

/// The time of what is written at `now`, after all that was written before it: replicas' clocks differ, and an answer stands
/// after its question.
fn after(newest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    newest.map_or(now, |newest| now.max(newest + TimeDelta::microseconds(1)))
}

/// Claims the conversation for a turn that goes on, under a new epoch. False when something else came first.
pub(crate) async fn continue_turn(
    tx: &mut Transaction,
    conversation_id: ConversationId,
    turn: TurnRows,
    again: TurnAgain<'_>,
) -> sqlx::Result<bool> {
    let TurnAgain { after, content, model, owner, lease } = again;
    tx.check_statement_size(content.len()).await?;
    let lease_until = database_now_in(tx).await? + lease;
    let message_id = turn.assistant_message_id;
    let (claim, update) = match after {
        After::CutOff => (CLAIM_AGAIN, CONTINUE_TURN),
        After::Consent => (KEEP_CLAIM, CONTINUE_WAITING_TURN),
    };
    let claim = tx.query(claim).bind(message_id).bind(now()).bind(conversation_id).bind(message_id);
    if claim.execute().await?.rows != 1 {
        return Ok(false);
    }
    let update = tx.query(update).bind(content).bind(model).bind(owner).bind(turn.epoch).bind(lease_until);
    let continued = update.bind(message_id).bind(turn.epoch - 1).execute().await?;
    Ok(continued.rows == 1)
}

/// Stops a turn that waits for consent, under a new epoch, and frees its conversation. False when it has gone on.
pub(crate) async fn stop_waiting_turn(tx: &mut Transaction, message_id: MessageId, epoch: i32) -> sqlx::Result<bool> {
    let now = now();
    let stop = tx.query(STOP_WAITING_TURN).bind(epoch).bind(now).bind(message_id).bind(epoch - 1);
    if stop.execute().await?.rows != 1 {
        return Ok(false);
    }
    tx.query(RELEASE).bind(now).bind(message_id).bind(message_id).execute().await?;
    Ok(true)
}

/// How long a turn has run since it was begun, or continued by hand.
pub(crate) async fn find_active(db: &Database, message_id: MessageId) -> sqlx::Result<Duration> {
    let active_ms: i64 = db.reader().query(select!(FIND_ACTIVE_MS)).bind(message_id).fetch_value().await?;
    Ok(Duration::from_millis(u64::try_from(active_ms).unwrap_or(0)))
}

/// Makes sure that turns, each named by its answer and its epoch, are still their owners' until the transaction ends. False when
/// one no longer is. There must be one at least.
pub(crate) async fn lock_turns(tx: &mut Transaction, turns: &[(MessageId, i32)]) -> sqlx::Result<bool> {
    let mut lock = tx.query(LOCK_TURNS);
    for (index, (message_id, epoch)) in turns.iter().enumerate() {
        lock.push(if index == 0 { "(id = ? AND epoch = ?)" } else { " OR (id = ? AND epoch = ?)" });
        lock = lock.bind(*message_id).bind(*epoch);
    }
    lock.push(")");
    let done = lock.execute().await?;
    Ok(done.rows == turns.len() as u64)
}

/// Says that the owner still lives. False when the turn is no longer its own.
pub(crate) async fn renew_lease(
    db: &Database,
    message_id: MessageId,
    epoch: i32,
    lease_until: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = db.writer().query(RENEW_LEASE).bind(lease_until).bind(message_id).bind(epoch).execute().await?;
    Ok(done.rows == 1)
}

/// Asks the owner of a turn to stop it. False when it does not run any more, or was asked before.
pub(crate) async fn request_stop(db: &Database, message_id: MessageId) -> sqlx::Result<bool> {
    let done = db.writer().query(REQUEST_STOP).bind(now()).bind(message_id).execute().await?;
    Ok(done.rows == 1)
}

/// The turns of this owner that it was asked to stop.
pub(crate) async fn list_stop_requests(db: &Database, owner: &str) -> sqlx::Result<Vec<MessageId>> {
    db.reader().query(select!(LIST_STOP_REQUESTS)).bind(owner).fetch_values().await
}

/// Writes down that a turn is over and frees its conversation; one that waits for consent is not over, and keeps it. False
/// when somebody else did so before.
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
        .query(END_TURN)
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
        tx.query(TOUCH).bind(now).bind(message_id).execute().await?;
    }
    Ok(true)
}

/// At most `limit` turns after the message `after` whose lease ran out before `time`, by the database's clock.
pub(crate) async fn list_abandoned_turns(
    db: &Database,
    time: DateTime<Utc>,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<AbandonedTurn>> {
    db.reader().query(select!(LIST_ABANDONED)).bind(time).bind(after).bind(limit).fetch_all().await
}

/// The present by the database's clock, which all replicas share.
pub(crate) async fn database_now(db: &Database) -> sqlx::Result<DateTime<Utc>> {
    db.reader().now().await
}

/// The same, asked within a transaction.
pub(crate) async fn database_now_in(tx: &mut Transaction) -> sqlx::Result<DateTime<Utc>> {
    tx.now().await
}
