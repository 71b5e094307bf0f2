//! SQL on `messages` that only reads.

use super::super::model::MessageRow;
use crate::db::{Database, on_db};

const LIST: &str = "SELECT id, parent_id, role, content, status, error, error_code, stop_reason, epoch, created_at \
     FROM messages WHERE conversation_id = ? ORDER BY id";

const FIND: &str = "SELECT id, parent_id, role, content, status, error, error_code, stop_reason, epoch, created_at \
     FROM messages WHERE id = ? AND conversation_id = ?";

/// All messages of a conversation, of every branch, oldest first.
pub(crate) async fn list_messages(db: &Database, conversation_id: i64) -> sqlx::Result<Vec<MessageRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST).bind(conversation_id).fetch_all(pool).await)
}

/// One message of a conversation.
pub(crate) async fn find_message(db: &Database, conversation_id: i64, id: i64) -> sqlx::Result<Option<MessageRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(id).bind(conversation_id).fetch_optional(pool).await)
}

/// The branch that ends in `head`: its messages from the first to `head` itself.
pub(crate) fn branch(messages: Vec<MessageRow>, head: Option<i64>) -> Vec<MessageRow> {
    // A parent is always older than its child, so one walk from the newest to the oldest finds the whole branch.
    let mut wanted = head;
    let mut branch = Vec::new();
    for message in messages.into_iter().rev() {
        if Some(message.id) == wanted {
            wanted = message.parent_id;
            branch.push(message);
        }
    }
    branch.reverse();
    branch
}
