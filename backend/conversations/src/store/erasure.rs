//! SQL that erases what belongs to one user: finds the conversations, deleted ones too, and deletes usage. `retention`
//! deletes a conversation.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, select};

use crate::store::rows::ConversationId;

/// Maximum number of rows that one transaction deletes.
const ROWS_AT_ONCE: u32 = 500;

/// Returns one of a user's conversations.
pub(crate) async fn find_conversation(db: &Database, user: UserId) -> sqlx::Result<Option<ConversationId>> {
    let find = select!("SELECT id FROM conversations WHERE user_id = ? LIMIT 1");
    db.reader().query(find).bind(user).fetch_optional_value().await
}

/// Requests a stop of all of a user's running turns.
pub(crate) async fn request_stops(db: &Database, user: UserId, at: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer()
        .query(
            "UPDATE messages SET stop_requested_at = ? WHERE status = 'streaming' AND stop_requested_at IS NULL AND id \
             IN (SELECT active_message_id FROM conversations WHERE user_id = ? AND active_message_id IS NOT NULL)",
        )
        .bind(at)
        .bind(user)
        .execute()
        .await
        .map(|_| ())
}

/// Counts a user's turns that a process runs: their leases are valid at `time`.
pub(crate) async fn count_running(db: &Database, user: UserId, time: DateTime<Utc>) -> sqlx::Result<i64> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*) FROM conversations c JOIN messages m ON m.id = c.active_message_id \
             WHERE c.user_id = ? AND m.status = 'streaming' AND m.lease_until > ?"
        ))
        .bind(user)
        .bind(time)
        .fetch_value()
        .await
}

/// Deletes some of a user's direct model calls. Returns `false` if none are left.
pub(crate) async fn delete_plain_calls(db: &Database, user: UserId) -> sqlx::Result<bool> {
    let find = select!("SELECT id FROM plain_calls WHERE user_id = ? LIMIT ?");
    let calls: Vec<i64> = db.reader().query(find).bind(user).bind(ROWS_AT_ONCE).fetch_values().await?;
    if calls.is_empty() {
        return Ok(false);
    }
    db.writer().delete_by_ids("DELETE FROM plain_calls WHERE id IN (", &calls).await?;
    Ok(true)
}

/// Deletes the requests that count against a user's limits. They are few, since each expires within minutes.
pub(crate) async fn delete_requests(db: &Database, user: UserId) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM model_requests WHERE user_id = ?").bind(user).execute().await.map(|_| ())
}
