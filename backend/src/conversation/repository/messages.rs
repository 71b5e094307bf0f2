//! SQL on `messages` that only reads.

use super::super::{model::MessageRow, tree::Place};
use crate::db::{Database, on_db};

const LIST: &str = "SELECT id, parent_id, role, content, status, error, error_code, stop_reason, epoch, created_at \
     FROM messages WHERE conversation_id = ? ORDER BY id";

const FIND: &str = "SELECT id, parent_id, role, content, status, error, error_code, stop_reason, epoch, created_at \
     FROM messages WHERE id = ? AND conversation_id = ?";

const LIST_PLACES: &str = "SELECT id, parent_id FROM messages WHERE conversation_id = ? ORDER BY id";

/// All messages of a conversation, of every branch, oldest first.
pub(crate) async fn list_messages(db: &Database, conversation_id: i64) -> sqlx::Result<Vec<MessageRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST).bind(conversation_id).fetch_all(pool).await)
}

/// Where every message of a conversation stands, oldest first.
pub(crate) async fn list_places(db: &Database, conversation_id: i64) -> sqlx::Result<Vec<Place>> {
    on_db!(db, |pool| sqlx::query_as(LIST_PLACES).bind(conversation_id).fetch_all(pool).await)
}

/// One message of a conversation.
pub(crate) async fn find_message(db: &Database, conversation_id: i64, id: i64) -> sqlx::Result<Option<MessageRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(id).bind(conversation_id).fetch_optional(pool).await)
}
