//! SQL for `responses`: answers that an API client can continue from by their IDs, with the input that was new in each
//! request.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use crate::store::{api_clients::ApiClient, rows::ConversationId};

/// An answer that an API client can continue from.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ResponseRow {
    pub message_id: MessageId,
    /// The answer that it continued from, which may be deleted.
    pub previous_id: Option<MessageId>,
    /// The new input of the request, as JSON.
    pub input: String,
    pub conversation_id: ConversationId,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
}

/// Stores the new input of an API client's request, so that later requests can continue from its answer.
pub(crate) async fn create(
    tx: &mut Transaction,
    api_client: ApiClient,
    message_id: MessageId,
    previous_id: Option<MessageId>,
    input: &str,
) -> sqlx::Result<()> {
    let create = tx
        .query("INSERT INTO responses (message_id, key_id, previous_id, input, created_at) VALUES (?, ?, ?, ?, ?)")
        .bind(message_id)
        .bind(api_client.key_id)
        .bind(previous_id)
        .bind(input);
    create.bind(now()).execute().await.map(|_| ())
}

/// Returns an API client's stored answer.
pub(crate) async fn find(
    db: &Database,
    api_client: ApiClient,
    message_id: MessageId,
) -> sqlx::Result<Option<ResponseRow>> {
    let ApiClient { user, key_id } = api_client;
    db.reader()
        .query(select!(
            "SELECT r.message_id, r.previous_id, r.input, c.id AS conversation_id, c.uuid \
             FROM responses r JOIN messages m ON m.id = r.message_id JOIN conversations c ON c.id = m.conversation_id \
             WHERE r.message_id = ? AND r.key_id = ? AND c.user_id = ? AND c.deleted_at IS NULL"
        ))
        .bind(message_id)
        .bind(key_id)
        .bind(user)
        .fetch_optional()
        .await
}

/// Deletes a stored response: it can no longer be continued from. The answer itself stays.
pub(crate) async fn delete(db: &Database, message_id: MessageId) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM responses WHERE message_id = ?").bind(message_id).execute().await.map(|_| ())
}

/// Deletes at most `limit` rows of answers that began before `time`. Returns their number.
pub(crate) async fn delete_before(db: &Database, time: DateTime<Utc>, limit: u32) -> sqlx::Result<usize> {
    let answers: Vec<i64> = db
        .reader()
        .query(select!("SELECT message_id FROM responses WHERE created_at < ? LIMIT ?"))
        .bind(time)
        .bind(limit)
        .fetch_values()
        .await?;
    if !answers.is_empty() {
        db.writer().delete_by_ids("DELETE FROM responses WHERE message_id IN (", &answers).await?;
    }
    Ok(answers.len())
}
