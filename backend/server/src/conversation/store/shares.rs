//! SQL on `shares`: copies of conversations that a link shows.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::ShareId;
use uuid::Uuid;

use super::rows::ConversationId;
use crate::accounts::UserId;

const COUNT: &str = "SELECT COUNT(*) FROM shares s JOIN conversations c ON c.id = s.conversation_id \
     WHERE c.user_id = ? AND c.deleted_at IS NULL";

const CREATE: &str = "INSERT INTO shares (conversation_id, token, title, has_tool_calls, messages, created_at) \
     VALUES (?, ?, ?, ?, ?, ?)";

const LIST: &str = "SELECT s.id, s.token, c.uuid, s.title, s.has_tool_calls, s.created_at \
     FROM shares s JOIN conversations c ON c.id = s.conversation_id \
     WHERE c.user_id = ? AND c.deleted_at IS NULL ORDER BY s.created_at DESC, s.id DESC";

const FIND: &str = "SELECT s.title, s.messages, s.created_at FROM shares s \
     JOIN conversations c ON c.id = s.conversation_id JOIN users u ON u.id = c.user_id \
     WHERE s.token = ? AND c.deleted_at IS NULL AND u.deactivated_at IS NULL";

const DELETE: &str = "DELETE FROM shares WHERE id = ? AND conversation_id IN \
     (SELECT id FROM conversations WHERE user_id = ? AND deleted_at IS NULL)";

/// A copy to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewShareRow<'a> {
    pub(crate) conversation_id: ConversationId,
    pub(crate) token: Uuid,
    pub(crate) title: &'a str,
    pub(crate) has_tool_calls: bool,
    /// The messages as JSON.
    pub(crate) messages: &'a str,
    pub(crate) created_at: DateTime<Utc>,
}

/// A copy as lists show it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ShareRow {
    pub(crate) id: ShareId,
    pub(crate) token: String,
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) has_tool_calls: bool,
    pub(crate) created_at: DateTime<Utc>,
}

/// A copy itself.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct SharedRow {
    pub(crate) title: String,
    pub(crate) messages: String,
    pub(crate) created_at: DateTime<Utc>,
}

/// How many copies of a user's conversations there are.
pub(crate) async fn count(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    tx.query(COUNT).bind(user).fetch_value().await
}

/// Stores a copy, and gives its row id.
pub(crate) async fn create(tx: &mut Transaction, new: NewShareRow<'_>) -> sqlx::Result<ShareId> {
    let NewShareRow { conversation_id, token, title, has_tool_calls, messages, created_at } = new;
    let query = tx.query(CREATE).bind(conversation_id).bind(token.to_string()).bind(title).bind(has_tool_calls);
    let done = query.bind(messages).bind(created_at).execute().await?;
    Ok(ShareId(done.inserted_id))
}

/// All copies of a user's conversations, the newest first.
pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<ShareRow>> {
    db.reader().query(select!(LIST)).bind(user).fetch_all().await
}

/// What the link with this token shows; nothing where its owner may not sign in any more.
pub(crate) async fn find(db: &Database, token: Uuid) -> sqlx::Result<Option<SharedRow>> {
    db.reader().query(select!(FIND)).bind(token.to_string()).fetch_optional().await
}

/// Deletes a copy. False when the user has none of this key.
pub(crate) async fn delete(db: &Database, user: UserId, id: ShareId) -> sqlx::Result<bool> {
    Ok(db.writer().query(DELETE).bind(id).bind(user).execute().await?.rows == 1)
}
