//! SQL on `responses`: answers that a program can go on from by their ids, and what it told each of them beside what it went
//! on from.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use super::{list_of::delete_of, programs::Program, rows::ConversationId};

const CREATE: &str =
    "INSERT INTO responses (message_id, key_id, previous_id, input, created_at) VALUES (?, ?, ?, ?, ?)";

const FIND: &str = "SELECT r.message_id, r.previous_id, r.input, c.id AS conversation_id, c.uuid \
     FROM responses r JOIN messages m ON m.id = r.message_id JOIN conversations c ON c.id = m.conversation_id \
     WHERE r.message_id = ? AND r.key_id = ? AND c.user_id = ? AND c.deleted_at IS NULL";

const DELETE: &str = "DELETE FROM responses WHERE message_id = ?";

const LIST_BEFORE: &str = "SELECT message_id FROM responses WHERE created_at < ? LIMIT ?";

const DELETE_SOME: &str = "DELETE FROM responses WHERE message_id IN (";

/// An answer that a program can go on from.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ResponseRow {
    pub(crate) message_id: MessageId,
    /// The one that it went on from, which may be gone.
    pub(crate) previous_id: Option<MessageId>,
    /// JSON.
    pub(crate) input: String,
    pub(crate) conversation_id: ConversationId,
    #[sqlx(try_from = "String")]
    pub(crate) uuid: Uuid,
}

/// Keeps what a program told an answer, so that it can go on from it.
pub(crate) async fn create(
    tx: &mut Transaction,
    program: Program,
    message_id: MessageId,
    previous_id: Option<MessageId>,
    input: &str,
) -> sqlx::Result<()> {
    let create = tx.query(CREATE).bind(message_id).bind(program.key_id).bind(previous_id).bind(input);
    create.bind(now()).execute().await.map(|_| ())
}

/// A program's answer.
pub(crate) async fn find(db: &Database, program: Program, message_id: MessageId) -> sqlx::Result<Option<ResponseRow>> {
    let Program { user, key_id } = program;
    db.reader().query(select!(FIND)).bind(message_id).bind(key_id).bind(user).fetch_optional().await
}

/// Forgets that an answer can be gone on from.
pub(crate) async fn delete(db: &Database, message_id: MessageId) -> sqlx::Result<()> {
    db.writer().query(DELETE).bind(message_id).execute().await.map(|_| ())
}

/// Deletes at most `limit` rows of answers that began before `time`. Returns their number.
pub(crate) async fn delete_before(db: &Database, time: DateTime<Utc>, limit: u32) -> sqlx::Result<usize> {
    let answers: Vec<i64> = db.reader().query(select!(LIST_BEFORE)).bind(time).bind(limit).fetch_values().await?;
    if !answers.is_empty() {
        delete_of(db, DELETE_SOME, &answers).await?;
    }
    Ok(answers.len())
}
