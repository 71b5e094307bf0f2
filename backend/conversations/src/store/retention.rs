//! SQL for the retention of deleted conversations: turns that still wait in them, counts, and purging in parts. A
//! conversation counts as deleted from the time when it, or else its owner's account, was deleted.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{COMMAND_TIMEOUT, Database, Select, select};
use tallybook_protocol::MessageId;

use crate::store::{rows::ConversationId, search_index};

/// The tables of a conversation's rows, in the order in which they are purged. Each has a query for some rows, a
/// statement that deletes them, and the number of rows per batch. Batches of tool calls and model calls are small
/// because their rows can be large; events are many. Foreign keys delete the rows of all other tables.
const PARTS: [(Select, &str, u32); 7] = [
    (
        select!(
            "SELECT j.id FROM messages m JOIN journal_events j ON j.message_id = m.id \
             WHERE m.conversation_id = ? LIMIT ?"
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
            "SELECT t.id FROM messages m JOIN copied_tool_calls t ON t.message_id = m.id \
             WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM copied_tool_calls WHERE id IN (",
        50,
    ),
    (
        select!(
            "SELECT k.id FROM messages m JOIN copied_model_calls k ON k.message_id = m.id \
             WHERE m.conversation_id = ? LIMIT ?"
        ),
        "DELETE FROM copied_model_calls WHERE id IN (",
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

/// A turn that waits for approval in a deleted conversation, where no user can decide any more.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct OrphanedTurn {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub owner: UserId,
}

/// Counts of deleted conversations.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct DeletedRow {
    pub kept: i64,
    /// Number of these that were deleted at a given time or before.
    pub due: i64,
    /// When the oldest was deleted.
    pub oldest: Option<DateTime<Utc>>,
}

/// Lists at most `limit` turns, after the message `after`, that wait for approval in deleted conversations or accounts.
pub(crate) async fn list_orphaned_turns(
    db: &Database,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<OrphanedTurn>> {
    db.reader()
        .query(select!(
            "SELECT m.id AS message, c.id AS conversation, c.user_id AS owner FROM messages m \
             JOIN conversations c ON c.id = m.conversation_id JOIN users u ON u.id = c.user_id \
             WHERE m.status = 'awaiting_approval' AND m.id > ? AND (c.deleted_at IS NOT NULL \
             OR u.deleted_at IS NOT NULL) ORDER BY m.id LIMIT ?"
        ))
        .bind(after)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns a conversation that was deleted at `time` or before and in which no turn runs.
pub(crate) async fn find_due(db: &Database, time: DateTime<Utc>) -> sqlx::Result<Option<ConversationId>> {
    // A conversation whose turn still runs is purged later: the turn's process writes to it.
    let due = db
        .reader()
        .query(select!(
            "SELECT id FROM conversations WHERE deleted_at <= ? AND active_message_id IS NULL \
             ORDER BY deleted_at, id LIMIT 1"
        ))
        .bind(time)
        .fetch_optional_value()
        .await?;
    if due.is_some() {
        return Ok(due);
    }
    // Few accounts match, and an index on `user_id` finds their conversations. With a join, some engines scan all
    // conversations.
    db.reader()
        .query(select!(
            "SELECT id FROM conversations \
             WHERE user_id IN (SELECT id FROM users WHERE deleted_at <= ?) AND active_message_id IS NULL LIMIT 1"
        ))
        .bind(time)
        .fetch_optional_value()
        .await
}

/// Deletes a part of a conversation. The statement names rows by their primary keys, so that it locks no other rows,
/// and these only briefly. Rows that another purge deletes at the same moment do no harm. Returns `false` if nothing is
/// left of the conversation.
pub(crate) async fn delete_part(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    if search_index::delete_block_of(db, id).await? {
        return Ok(true);
    }
    for (find, delete, limit) in PARTS {
        let rows: Vec<i64> = db.reader().query(find).bind(id).bind(limit).fetch_values().await?;
        if rows.is_empty() {
            continue;
        }
        db.writer().delete_by_ids(delete, &rows).await?;
        return Ok(true);
    }
    db.writer().query("DELETE FROM conversations WHERE id = ?").bind(id).execute().await?;
    Ok(false)
}

/// Counts deleted conversations, and those among them that were deleted at `time` or before.
pub(crate) async fn count(db: &Database, time: DateTime<Utc>) -> sqlx::Result<DeletedRow> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*) AS kept, \
             CAST(COALESCE(SUM(CASE WHEN COALESCE(c.deleted_at, u.deleted_at) <= ? THEN 1 ELSE 0 END), 0) AS SIGNED) AS due, \
             MIN(COALESCE(c.deleted_at, u.deleted_at)) AS oldest FROM conversations c JOIN users u ON u.id = c.user_id \
             WHERE c.deleted_at IS NOT NULL OR u.deleted_at IS NOT NULL"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .bind(time)
        .fetch_one()
        .await
}

/// Counts the tool calls in conversations that were deleted at `time` or before.
pub(crate) async fn count_due_calls(db: &Database, time: DateTime<Utc>) -> sqlx::Result<i64> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*) FROM conversations c JOIN users u ON u.id = c.user_id \
             JOIN messages m ON m.conversation_id = c.id JOIN tool_calls t ON t.message_id = m.id \
             WHERE c.deleted_at <= ? OR u.deleted_at <= ?"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .bind(time)
        .bind(time)
        .fetch_value()
        .await
}
