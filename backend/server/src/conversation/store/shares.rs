//! SQL on `shares`: copies of conversations that a link shows.

use chrono::{DateTime, Utc};
use tallybook_protocol::ShareId;
use uuid::Uuid;

use super::rows::ConversationId;
use crate::{
    accounts::UserId,
    db::{Database, InsertedId as _, Transaction, on_db, on_tx, write_db},
};

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
    on_tx!(tx, |connection| sqlx::query_scalar(COUNT).bind(user).fetch_one(connection).await)
}

/// Stores a copy, and gives its row id.
pub(crate) async fn create(tx: &mut Transaction, new: NewShareRow<'_>) -> sqlx::Result<ShareId> {
    let NewShareRow { conversation_id, token, title, has_tool_calls, messages, created_at } = new;
    on_tx!(tx, |connection| {
        let query = sqlx::query(CREATE).bind(conversation_id).bind(token.to_string()).bind(title).bind(has_tool_calls);
        let done = query.bind(messages).bind(created_at).execute(connection).await?;
        Ok(ShareId(done.inserted_id()))
    })
}

/// All copies of a user's conversations, the newest first.
pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<ShareRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST).bind(user).fetch_all(pool).await)
}

/// What the link with this token shows; nothing where its owner may not sign in any more.
pub(crate) async fn find(db: &Database, token: Uuid) -> sqlx::Result<Option<SharedRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(token.to_string()).fetch_optional(pool).await)
}

/// Deletes a copy. False when the user has none of this key.
pub(crate) async fn delete(db: &Database, user: UserId, id: ShareId) -> sqlx::Result<bool> {
    write_db!(db, |pool| Ok(sqlx::query(DELETE).bind(id).bind(user).execute(pool).await?.rows_affected() == 1))
}
