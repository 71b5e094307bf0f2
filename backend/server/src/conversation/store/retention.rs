//! SQL on what was deleted: what is left to be ended in it, what there is of it, and purging it part by part. A conversation
//! counts as deleted since it was, or else since its owner's account was.

use chrono::{DateTime, Utc};
use tallybook_database::{COMMAND_TIMEOUT, Database, Select, select};
use tallybook_protocol::MessageId;

use super::{list_of::delete_of, rows::ConversationId};
use crate::accounts::UserId;

const LIST_WAITING_TURNS: &str = "SELECT m.id AS message, c.id AS conversation, c.user_id AS owner \
     FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN users u ON u.id = c.user_id \
     WHERE m.status = 'awaiting_approval' AND m.id > ? AND (c.deleted_at IS NOT NULL OR u.deleted_at IS NOT NULL) \
     ORDER BY m.id LIMIT ?";

// Whose turn still runs is purged when that is over: its process writes there.
const FIND_DUE: &str = "SELECT id FROM conversations WHERE deleted_at <= ? AND active_message_id IS NULL \
     ORDER BY deleted_at, id LIMIT 1";

// Of few accounts, by the index that begins with whose it is; a join goes through all conversations on some engines.
const FIND_DUE_OF_ACCOUNTS: &str = "SELECT id FROM conversations \
     WHERE user_id IN (SELECT id FROM users WHERE deleted_at <= ?) AND active_message_id IS NULL LIMIT 1";

const DELETE_CONVERSATION: &str = "DELETE FROM conversations WHERE id = ?";

const COUNT: &str = "SELECT COUNT(*) AS kept, \
     CAST(COALESCE(SUM(CASE WHEN COALESCE(c.deleted_at, u.deleted_at) <= ? THEN 1 ELSE 0 END), 0) AS SIGNED) AS due, \
     MIN(COALESCE(c.deleted_at, u.deleted_at)) AS oldest FROM conversations c JOIN users u ON u.id = c.user_id \
     WHERE c.deleted_at IS NOT NULL OR u.deleted_at IS NOT NULL";

const COUNT_DUE_CALLS: &str = "SELECT COUNT(*) FROM conversations c JOIN users u ON u.id = c.user_id \
     JOIN messages m ON m.conversation_id = c.id JOIN tool_calls t ON t.message_id = m.id \
     WHERE c.deleted_at <= ? OR u.deleted_at <= ?";

/// What a conversation consists of, in the order in which it is purged, each with how to find some of its rows and to delete
/// them, and how many go at once: calls and steps may be large, events are many. All else goes with one of these.
const PARTS: [(Select, &str, u32); 5] = [
    (
        select!(
            "SELECT j.id FROM messages m JOIN journal_events j ON j.message_id = m.id WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM journal_events WHERE id IN (",
        500,
    ),
    (
        select!(
            "SELECT t.id FROM messages m JOIN tool_calls t ON t.message_id = m.id WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM tool_calls WHERE id IN (",
        50,
    ),
    (
        select!(
            "SELECT k.id FROM messages m JOIN model_calls k ON k.message_id = m.id WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM model_calls WHERE id IN (",
        50,
    ),
    (
        select!(
            "SELECT r.id FROM messages m JOIN reasonings r ON r.message_id = m.id WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM reasonings WHERE id IN (",
        50,
    ),
    (select!("SELECT id FROM messages WHERE conversation_id = ? LIMIT ?"), "DELETE FROM messages WHERE id IN (", 50),
];

/// A turn that waits for consent, on which nobody can decide any more.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct ForsakenTurn {
    pub(crate) message: MessageId,
    pub(crate) conversation: ConversationId,
    pub(crate) owner: UserId,
}

/// What there is of deleted conversations.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct DeletedRow {
    pub(crate) kept: i64,
    /// How many of them were deleted before some time.
    pub(crate) due: i64,
    /// When the oldest was deleted.
    pub(crate) oldest: Option<DateTime<Utc>>,
}

/// At most `limit` turns after the message `after` that wait for consent in what was deleted.
pub(crate) async fn list_forsaken_turns(
    db: &Database,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<ForsakenTurn>> {
    db.reader().query(select!(LIST_WAITING_TURNS)).bind(after).bind(limit).fetch_all().await
}

/// A conversation that was deleted at `time` or before and in which no turn runs.
pub(crate) async fn find_due(db: &Database, time: DateTime<Utc>) -> sqlx::Result<Option<ConversationId>> {
    let due = db.reader().query(select!(FIND_DUE)).bind(time).fetch_optional_value().await?;
    if due.is_some() {
        return Ok(due);
    }
    db.reader().query(select!(FIND_DUE_OF_ACCOUNTS)).bind(time).fetch_optional_value().await
}

/// Deletes a part of a conversation, by one statement that finds its rows by their keys, so that it locks no others and
/// these not for long; nothing that somebody else has deleted at the same moment is missed. False when nothing is left of
/// the conversation.
pub(crate) async fn delete_part(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    for (find, delete, limit) in PARTS {
        let rows: Vec<i64> = db.reader().query(find).bind(id).bind(limit).fetch_values().await?;
        if rows.is_empty() {
            continue;
        }
        delete_of(db, delete, &rows).await?;
        return Ok(true);
    }
    db.writer().query(DELETE_CONVERSATION).bind(id).execute().await?;
    Ok(false)
}

/// Counts deleted conversations, and those among them that were deleted at `time` or before.
pub(crate) async fn count(db: &Database, time: DateTime<Utc>) -> sqlx::Result<DeletedRow> {
    db.reader().query(select!(COUNT)).with_timeout(COMMAND_TIMEOUT).bind(time).fetch_one().await
}

/// Counts the tool calls in conversations that were deleted at `time` or before.
pub(crate) async fn count_due_calls(db: &Database, time: DateTime<Utc>) -> sqlx::Result<i64> {
    db.reader().query(select!(COUNT_DUE_CALLS)).with_timeout(COMMAND_TIMEOUT).bind(time).bind(time).fetch_value().await
}
