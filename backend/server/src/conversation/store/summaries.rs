//! SQL on `conversation_summaries`, on who writes the next one, and on what an answer's model was told in place of the whole.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, now, select};
use tallybook_protocol::{MessageId, Told};

use super::{
    columns::{MAX_MODEL_CHARS, truncated},
    rows::{ConversationId, StoredSummary, SummaryPlace, ToldRow},
};

const LIST_PLACES: &str =
    "SELECT id, message_id FROM conversation_summaries WHERE conversation_id = ? ORDER BY created_at, id";

const LIST: &str = "SELECT message_id, summary, model, created_at FROM conversation_summaries \
     WHERE conversation_id = ? ORDER BY created_at, id";

const FIND_TEXT: &str = "SELECT summary FROM conversation_summaries WHERE id = ?";

const CREATE: &str = "INSERT INTO conversation_summaries (conversation_id, message_id, summary, model, created_at) \
     VALUES (?, ?, ?, ?, ?)";

// One at a time, on whatever replica. Whoever died with it has it no longer than this.
const CLAIM: &str = "UPDATE conversations SET summary_until = ? \
     WHERE id = ? AND deleted_at IS NULL AND (summary_until IS NULL OR summary_until < ?)";

const RELEASE_CLAIM: &str = "UPDATE conversations SET summary_until = NULL WHERE id = ? AND summary_until = ?";

const IS_OF_PROGRAM: &str = "SELECT COUNT(*) FROM conversations WHERE id = ? AND origin = 'api' AND deleted_at IS NULL";

const SET_TOLD: &str = "UPDATE messages SET told_from = ?, summary_id = ? \
     WHERE id = ? AND epoch = ? AND status = 'streaming'";

const FIND_TOLD: &str = "SELECT m.told_from, s.summary AS told_summary FROM messages m \
     LEFT JOIN conversation_summaries s ON s.id = m.summary_id WHERE m.id = ?";

/// Which answers of a conversation, on every branch, have summaries.
pub(crate) async fn list_places(db: &Database, id: ConversationId) -> sqlx::Result<Vec<SummaryPlace>> {
    db.reader().query(select!(LIST_PLACES)).bind(id).fetch_all().await
}

/// All summaries of a conversation, on every branch.
pub(crate) async fn list(db: &Database, id: ConversationId) -> sqlx::Result<Vec<StoredSummary>> {
    db.reader().query(select!(LIST)).bind(id).fetch_all().await
}

/// The text of a summary.
pub(crate) async fn find_text(db: &Database, id: i64) -> sqlx::Result<Option<String>> {
    db.reader().query(select!(FIND_TEXT)).bind(id).fetch_optional_value().await
}

/// Stores a summary, unless there is one of that answer.
pub(crate) async fn create(
    db: &Database,
    conversation_id: ConversationId,
    message_id: MessageId,
    summary: &str,
    model: &str,
) -> sqlx::Result<()> {
    let create = db.writer().query(CREATE).bind(conversation_id).bind(message_id).bind(summary);
    let created = create.bind(truncated(model, MAX_MODEL_CHARS)).bind(now()).execute().await;
    match created {
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(()),
        done => done.map(|_| ()),
    }
}

/// Takes the right to sum up a conversation from `time` to `until`, by the database's clock. False when somebody has it, or the
/// conversation was deleted.
pub(crate) async fn claim(
    db: &Database,
    id: ConversationId,
    time: DateTime<Utc>,
    until: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = db.writer().query(CLAIM).bind(until).bind(id).bind(time).execute().await?;
    Ok(done.rows == 1)
}

/// Gives that right back, unless it ran out.
pub(crate) async fn release(db: &Database, id: ConversationId, until: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query(RELEASE_CLAIM).bind(id).bind(until).execute().await.map(|_| ())
}

/// Whether a program made the conversation.
pub(crate) async fn is_of_program(db: &Database, id: ConversationId) -> sqlx::Result<bool> {
    let found: i64 = db.reader().query(select!(IS_OF_PROGRAM)).bind(id).fetch_value().await?;
    Ok(found > 0)
}

/// Writes down what a turn's model is told in place of the whole, unless the turn is no longer its owner's.
pub(crate) async fn set_told(
    db: &Database,
    message_id: MessageId,
    epoch: i32,
    from: Option<MessageId>,
    summary_id: Option<i64>,
) -> sqlx::Result<()> {
    let set = db.writer().query(SET_TOLD).bind(from).bind(summary_id).bind(message_id).bind(epoch);
    set.execute().await.map(|_| ())
}

/// What a turn's model was told in place of the whole.
pub(crate) async fn find_told(db: &Database, message_id: MessageId) -> sqlx::Result<Option<Told>> {
    let row: Option<ToldRow> = db.reader().query(select!(FIND_TOLD)).bind(message_id).fetch_optional().await?;
    Ok(row.and_then(ToldRow::told))
}
