//! SQL for `conversation_summaries`, for the claim on writing the next summary, and for the summary in an answer's
//! prompt.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, is_unique_violation, now, select};
use tallybook_protocol::{ContextTruncation, MessageId, first_chars};

use crate::store::{
    columns::MAX_MODEL_CHARS,
    rows::{ContextRow, ConversationId, StoredSummary, SummaryRef},
};

/// Lists the answers of a conversation that have summaries, on every branch.
pub(crate) async fn list_places(db: &Database, id: ConversationId) -> sqlx::Result<Vec<SummaryRef>> {
    db.reader()
        .query(select!(
            "SELECT id, message_id FROM conversation_summaries WHERE conversation_id = ? ORDER BY created_at, id"
        ))
        .bind(id)
        .fetch_all()
        .await
}

/// Lists all summaries of a conversation, on every branch.
pub(crate) async fn list(db: &Database, id: ConversationId) -> sqlx::Result<Vec<StoredSummary>> {
    db.reader()
        .query(select!(
            "SELECT message_id, summary, model, created_at FROM conversation_summaries \
             WHERE conversation_id = ? ORDER BY created_at, id"
        ))
        .bind(id)
        .fetch_all()
        .await
}

/// Returns the text of a summary.
pub(crate) async fn find_text(db: &Database, id: i64) -> sqlx::Result<Option<String>> {
    db.reader()
        .query(select!("SELECT summary FROM conversation_summaries WHERE id = ?"))
        .bind(id)
        .fetch_optional_value()
        .await
}

/// Stores a summary, unless the answer has one already.
pub(crate) async fn create(
    db: &Database,
    conversation_id: ConversationId,
    message_id: MessageId,
    summary: &str,
    model: &str,
) -> sqlx::Result<()> {
    let create = db
        .writer()
        .query(
            "INSERT INTO conversation_summaries (conversation_id, message_id, summary, model, created_at) \
             VALUES (?, ?, ?, ?, ?)",
        )
        .bind(conversation_id)
        .bind(message_id)
        .bind(summary);
    let created = create.bind(first_chars(model, MAX_MODEL_CHARS)).bind(now()).execute().await;
    match created {
        Err(error) if is_unique_violation(&error) => Ok(()),
        done => done.map(|_| ()),
    }
}

/// Claims the right to summarize a conversation from `time` to `until`, by the database's clock. Returns `false` if
/// another task has the claim, or if the conversation was deleted.
pub(crate) async fn claim(
    db: &Database,
    id: ConversationId,
    time: DateTime<Utc>,
    until: DateTime<Utc>,
) -> sqlx::Result<bool> {
    // At most one task has the claim, across all replicas. If its process dies, the claim expires at `until`.
    let done = db
        .writer()
        .query(
            "UPDATE conversations SET summary_until = ? \
             WHERE id = ? AND deleted_at IS NULL AND (summary_until IS NULL OR summary_until < ?)",
        )
        .bind(until)
        .bind(id)
        .bind(time)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Releases the claim, unless it has expired.
pub(crate) async fn release(db: &Database, id: ConversationId, until: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer()
        .query("UPDATE conversations SET summary_until = NULL WHERE id = ? AND summary_until = ?")
        .bind(id)
        .bind(until)
        .execute()
        .await
        .map(|_| ())
}

/// Returns `true` if an API client created the conversation.
pub(crate) async fn is_of_api_client(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    let found: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM conversations WHERE id = ? AND origin = 'api' AND deleted_at IS NULL"))
        .bind(id)
        .fetch_value()
        .await?;
    Ok(found > 0)
}

/// Records that a turn's prompt contains the conversation from the message `from` on, and this summary of the messages
/// before it. Does nothing if this process no longer owns the turn.
pub(crate) async fn set_truncation(
    db: &Database,
    message_id: MessageId,
    epoch: i32,
    from: Option<MessageId>,
    summary_id: Option<i64>,
) -> sqlx::Result<()> {
    let set = db
        .writer()
        .query(
            "UPDATE messages SET told_from = ?, summary_id = ? \
             WHERE id = ? AND epoch = ? AND status = 'streaming'",
        )
        .bind(from)
        .bind(summary_id)
        .bind(message_id)
        .bind(epoch);
    set.execute().await.map(|_| ())
}

/// Returns the part of the conversation that a turn's prompt contained; `None` if it contained the whole conversation.
pub(crate) async fn find_truncation(db: &Database, message_id: MessageId) -> sqlx::Result<Option<ContextTruncation>> {
    let row: Option<ContextRow> = db
        .reader()
        .query(select!(
            "SELECT m.told_from, s.summary AS told_summary FROM messages m \
             LEFT JOIN conversation_summaries s ON s.id = m.summary_id WHERE m.id = ?"
        ))
        .bind(message_id)
        .fetch_optional()
        .await?;
    Ok(row.and_then(ContextRow::into_truncation))
}
