//! Retention of deleted conversations. `list` deletes a conversation for its owner at once. Admins see it in the tool
//! history until it is purged, when its retention period is over.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tallybook_database::{Database, now, with_retries};

use crate::{
    context::Context,
    store::{model_requests, retention},
};

/// Interval between checks for conversations that are due.
const POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Pause between two parts of a purge, so that other writes are not held up.
const PAUSE: Duration = Duration::from_millis(20);

/// Counts of deleted conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Number of deleted conversations that are not purged yet.
    pub kept: i64,
    /// Number of these whose retention period is over.
    pub due: i64,
    /// Number of tool calls in the conversations that are due.
    pub due_calls: i64,
    /// Time at which the oldest of the deleted conversations was deleted.
    pub oldest: Option<DateTime<Utc>>,
}

/// Counts deleted conversations. Those that were deleted at least `retention` ago are due.
pub async fn count_deleted(db: &Database, retention: Duration) -> sqlx::Result<Deleted> {
    let time = due_time(db, retention).await?;
    let row = retention::count(db, time).await?;
    let due_calls = retention::count_due_calls(db, time).await?;
    Ok(Deleted { kept: row.kept, due: row.due, due_calls, oldest: row.oldest })
}

/// Purges all conversations that were deleted at least `retention` ago, except those in which a turn still runs.
pub async fn purge_all_due(db: &Database, retention: Duration) -> sqlx::Result<()> {
    while purge_part(db, retention).await? {
        tokio::time::sleep(PAUSE).await;
    }
    // If a reader still needs the database's journal, the server or the next purge empties it.
    db.empty_journal().await.map(|_| ())
}

/// Purges deleted conversations when they are due, until the server drains.
pub(crate) async fn purge_deleted(context: Arc<Context>) {
    // `true` while the journal of an embedded database may still contain purged texts.
    let mut journal_has_purged = false;
    loop {
        let pause = match purge_part(&context.db, context.changeable().deleted_retention).await {
            Ok(true) => {
                journal_has_purged = true;
                PAUSE
            }
            Ok(false) => {
                if journal_has_purged {
                    journal_has_purged = !empty_journal(&context.db).await;
                }
                if let Err(error) = model_requests::delete_expired(&context.db, now()).await {
                    tracing::warn!(%error, "expired rows of the message limit could not be deleted");
                }
                POLL_INTERVAL
            }
            Err(error) => {
                tracing::warn!(%error, "deleted conversations could not be purged");
                POLL_INTERVAL
            }
        };
        tokio::select! {
            () = context.draining.cancelled() => return,
            () = context.deleted.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Empties the journal of an embedded database. Returns `false` if it must be tried again.
async fn empty_journal(db: &Database) -> bool {
    db.empty_journal().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the database's journal could not be emptied after a purge");
        false
    })
}

/// Purges a part of one conversation that is due. Returns `false` if none is due. Concurrent purges of the same
/// conversation are harmless: each deletes what is still there.
async fn purge_part(db: &Database, retention: Duration) -> sqlx::Result<bool> {
    let time = due_time(db, retention).await?;
    let Some(id) = retention::find_due(db, time).await? else { return Ok(false) };
    if !with_retries(|| retention::delete_part(db, id)).await? {
        tracing::info!(conversation = id.0, "a deleted conversation was purged");
    }
    Ok(true)
}

/// Returns the time up to which deleted conversations are due.
async fn due_time(db: &Database, retention: Duration) -> sqlx::Result<DateTime<Utc>> {
    Ok(db.reader().now().await? - retention)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::{
        SqlitePool,
        sqlite::{SqliteConnectOptions, SqlitePoolOptions},
    };
    use tallybook_database::{Database, select};

    use crate::retention::purge_all_due;

    /// SQLite has one writer. A statement that writes on another connection can block a turn's write until that write
    /// fails.
    #[tokio::test]
    async fn purging_writes_only_through_the_writer() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tallybook.db");
        let db = Database::connect(&format!("sqlite://{}", file.display()).parse().unwrap()).await.unwrap();
        for sql in [
            "INSERT INTO conversations (id, uuid, user_id, title, created_at, updated_at, deleted_at) VALUES (7, \
             '00000000-0000-4000-8000-000000000007', 1, 'old', '2020-01-01T00:00:00+00:00', '2020-01-01T00:00:00+00:00', \
             '2020-01-01T00:00:00+00:00')",
            "INSERT INTO messages (id, conversation_id, role, content, status, created_at) \
             VALUES (8, 7, 'assistant', 'old', 'complete', '2020-01-01T00:00:00+00:00')",
            "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
             text_offset, started_at) VALUES (8, 'a', 'add', '{}', '{}', 'success', 0, 0, 0, '2020-01-01T00:00:00+00:00')",
        ] {
            db.writer().query(sql).execute().await.unwrap();
        }
        let options = SqliteConnectOptions::new().filename(file);
        let readers = SqlitePool::connect_with(options.clone().pragma("query_only", "ON")).await.unwrap();
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
        purge_all_due(&Database::of_sqlite(readers, writer), Duration::ZERO).await.unwrap();
        let left: i64 = db.reader().query(select!("SELECT COUNT(*) FROM conversations")).fetch_value().await.unwrap();
        assert_eq!(left, 0);
    }
}
