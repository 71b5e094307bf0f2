//! SQL for `shares`: copies of conversations that share links show.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::ShareId;
use uuid::Uuid;

use crate::store::rows::ConversationId;

/// A copy to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewShareRow<'a> {
    pub conversation_id: ConversationId,
    pub token: Uuid,
    pub title: &'a str,
    pub has_tool_calls: bool,
    pub has_files: bool,
    /// The messages as JSON.
    pub messages: &'a str,
    pub created_at: DateTime<Utc>,
}

/// A copy in a list, without its messages.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ShareRow {
    pub id: ShareId,
    #[sqlx(try_from = "String")]
    pub token: Uuid,
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    pub title: String,
    pub has_tool_calls: bool,
    pub has_files: bool,
    pub created_at: DateTime<Utc>,
}

/// The content of a copy.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct SharedRow {
    pub user_id: UserId,
    pub title: String,
    pub has_tool_calls: bool,
    pub messages: String,
    pub created_at: DateTime<Utc>,
}

/// Returns the number of copies of a user's conversations.
pub(crate) async fn count(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    tx.query(
        "SELECT COUNT(*) FROM shares s JOIN conversations c ON c.id = s.conversation_id \
         WHERE c.user_id = ? AND c.deleted_at IS NULL",
    )
    .bind(user)
    .fetch_value()
    .await
}

/// Stores a copy and returns its row ID.
pub(crate) async fn create(tx: &mut Transaction, new: NewShareRow<'_>) -> sqlx::Result<ShareId> {
    let NewShareRow { conversation_id, token, title, has_tool_calls, has_files, messages, created_at } = new;
    let query = tx
        .query(
            "INSERT INTO shares (conversation_id, token, title, has_tool_calls, has_files, messages, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(conversation_id)
        .bind(token.to_string())
        .bind(title)
        .bind(has_tool_calls)
        .bind(has_files);
    let done = query.bind(messages).bind(created_at).execute().await?;
    Ok(ShareId(done.inserted_id))
}

/// Lists all copies of a user's conversations, newest first.
pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<ShareRow>> {
    db.reader()
        .query(select!(
            "SELECT s.id, s.token, c.uuid, s.title, s.has_tool_calls, s.has_files, s.created_at \
             FROM shares s JOIN conversations c ON c.id = s.conversation_id \
             WHERE c.user_id = ? AND c.deleted_at IS NULL ORDER BY s.created_at DESC, s.id DESC"
        ))
        .bind(user)
        .fetch_all()
        .await
}

/// Returns the copy with this token. Returns `None` if there is none, if its conversation was deleted, or if its
/// owner's account is deactivated.
pub(crate) async fn find(db: &Database, token: Uuid) -> sqlx::Result<Option<SharedRow>> {
    db.reader()
        .query(select!(
            "SELECT c.user_id, s.title, s.has_tool_calls, s.messages, s.created_at FROM shares s \
             JOIN conversations c ON c.id = s.conversation_id JOIN users u ON u.id = c.user_id \
             WHERE s.token = ? AND c.deleted_at IS NULL AND u.deactivated_at IS NULL"
        ))
        .bind(token.to_string())
        .fetch_optional()
        .await
}

/// Deletes a copy, and returns the UUID of its conversation. Returns `None` if the user has no such copy.
pub(crate) async fn delete(tx: &mut Transaction, user: UserId, id: ShareId) -> sqlx::Result<Option<String>> {
    let conversation: Option<String> = tx
        .query(
            "SELECT c.uuid FROM shares s JOIN conversations c ON c.id = s.conversation_id \
             WHERE s.id = ? AND c.user_id = ? AND c.deleted_at IS NULL",
        )
        .bind(id)
        .bind(user)
        .fetch_optional_value()
        .await?;
    if conversation.is_none() {
        return Ok(None);
    }
    let done = tx.query("DELETE FROM shares WHERE id = ?").bind(id).execute().await?;
    Ok(conversation.filter(|_| done.rows == 1))
}
