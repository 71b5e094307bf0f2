//! SQL for API clients. `program_conversations` maps a client's own chat IDs to conversations. `turn_inputs` has the
//! input that a client sent for a turn in place of the stored history.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::CLIENT_CALLS;
use tallybook_database::{Database, Transaction, is_unique_violation, select};
use tallybook_protocol::MessageId;
use uuid::Uuid;

use crate::store::{
    conversations::conversation_columns,
    rows::{ConversationId, ConversationRow},
};

/// An API client, which owns the conversations that it creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiClient {
    /// The user.
    pub user: UserId,
    /// Row ID of the API key; 0 if the client uses none.
    pub key_id: i64,
}

/// An answer that ended with tool calls for the API client to run.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct AnswerRef {
    pub message_id: MessageId,
    /// The question that it answers.
    pub user_message_id: MessageId,
    pub conversation_id: ConversationId,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
}

/// Returns the conversation that an API client refers to, by the client's own chat ID or by the UUID that the server
/// sent.
pub(crate) async fn find_conversation(
    db: &Database,
    api_client: ApiClient,
    chat_id: &str,
) -> sqlx::Result<Option<ConversationRow>> {
    let find = db
        .reader()
        .query(select!(concat!(
            "SELECT ",
            conversation_columns!(),
            " FROM program_conversations p JOIN conversations c ON c.id = p.conversation_id \
             WHERE p.user_id = ? AND p.key_id = ? AND p.chat_id = ? AND c.user_id = p.user_id AND c.deleted_at IS NULL"
        )))
        .bind(api_client.user)
        .bind(api_client.key_id)
        .bind(chat_id);
    find.fetch_optional().await
}

/// Returns the conversation for which one of the user's API clients uses this chat ID. If several of the user's keys
/// use the same ID, returns the conversation that was last updated.
pub(crate) async fn find_by_chat_id(
    db: &Database,
    user: UserId,
    chat_id: &str,
) -> sqlx::Result<Option<ConversationId>> {
    db.reader()
        .query(select!(
            "SELECT c.id FROM program_conversations p JOIN conversations c ON c.id = p.conversation_id \
             WHERE p.user_id = ? AND p.chat_id = ? AND c.user_id = p.user_id AND c.deleted_at IS NULL \
             ORDER BY c.updated_at DESC, c.id DESC LIMIT 1"
        ))
        .bind(user)
        .bind(chat_id)
        .fetch_optional_value()
        .await
}

/// Returns an API client's answer that ended with tool calls for the client to run.
pub(crate) async fn find_answer(
    db: &Database,
    api_client: ApiClient,
    message_id: MessageId,
) -> sqlx::Result<Option<AnswerRef>> {
    let ApiClient { user, key_id } = api_client;
    let find = db
        .reader()
        .query(select!(
            "SELECT m.id AS message_id, m.parent_id AS user_message_id, c.id AS conversation_id, c.uuid \
             FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.id = ? \
             AND m.role = 'assistant' AND m.status = 'complete' AND m.stop_reason = ? \
             AND c.user_id = ? AND c.deleted_at IS NULL AND EXISTS (SELECT 1 \
             FROM program_conversations p WHERE p.conversation_id = c.id AND p.user_id = ? \
             AND p.key_id = ?)"
        ))
        .bind(message_id)
        .bind(CLIENT_CALLS)
        .bind(user)
        .bind(user)
        .bind(key_id);
    find.fetch_optional().await
}

/// Makes an API client's chat ID refer to this conversation from now on.
pub(crate) async fn set_conversation(
    tx: &mut Transaction,
    api_client: ApiClient,
    chat_id: &str,
    conversation_id: ConversationId,
) -> sqlx::Result<()> {
    let ApiClient { user, key_id } = api_client;
    let moved = tx
        .query("UPDATE program_conversations SET conversation_id = ? WHERE user_id = ? AND key_id = ? AND chat_id = ?")
        .bind(conversation_id)
        .bind(user)
        .bind(key_id)
        .bind(chat_id);
    if moved.execute().await?.rows == 1 {
        return Ok(());
    }
    let create = tx
        .query("INSERT INTO program_conversations (user_id, key_id, chat_id, conversation_id) VALUES (?, ?, ?, ?)")
        .bind(user)
        .bind(key_id)
        .bind(chat_id)
        .bind(conversation_id);
    match create.execute().await {
        // Another request of the same chat was faster, and the ID refers to its conversation.
        Err(error) if is_unique_violation(&error) => Ok(()),
        done => done.map(|_| ()),
    }
}

/// Stores the input that an API client sent for a turn.
pub(crate) async fn create_turn_input(tx: &mut Transaction, message_id: MessageId, input: &str) -> sqlx::Result<()> {
    tx.check_statement_size(input.len()).await?;
    tx.query("INSERT INTO turn_inputs (message_id, input) VALUES (?, ?)")
        .bind(message_id)
        .bind(input)
        .execute()
        .await
        .map(|_| ())
}

/// Returns the input that an API client sent for a turn. It is stored until the turn is complete.
pub(crate) async fn find_turn_input(db: &Database, message_id: MessageId) -> sqlx::Result<Option<String>> {
    db.reader()
        .query(select!("SELECT input FROM turn_inputs WHERE message_id = ?"))
        .bind(message_id)
        .fetch_optional_value()
        .await
}

/// Deletes the inputs of at most `limit` turns that ended before `time`. Returns their number.
pub(crate) async fn delete_turn_inputs_before(db: &Database, time: DateTime<Utc>, limit: u32) -> sqlx::Result<usize> {
    let turns: Vec<i64> = db
        .reader()
        .query(select!(
            "SELECT i.message_id FROM turn_inputs i JOIN messages m ON m.id = i.message_id \
             WHERE m.completed_at < ? LIMIT ?"
        ))
        .bind(time)
        .bind(limit)
        .fetch_values()
        .await?;
    if !turns.is_empty() {
        db.writer().delete_by_ids("DELETE FROM turn_inputs WHERE message_id IN (", &turns).await?;
    }
    Ok(turns.len())
}

/// Deletes the input that an API client sent for a turn.
pub(crate) async fn delete_turn_input(tx: &mut Transaction, message_id: MessageId) -> sqlx::Result<()> {
    tx.query("DELETE FROM turn_inputs WHERE message_id = ?").bind(message_id).execute().await.map(|_| ())
}
