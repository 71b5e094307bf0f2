//! The retention: what people delete is hidden at once, stays in the book that admins read, and is purged when it was kept
//! for as long as the operator wants. Hiding it is `list`'s; what its owner sees of it is nothing.

use std::{sync::Arc, time::Duration};
use tallybook_database::{Database, now, with_retries};

use chrono::{DateTime, Utc};

use super::{
    context::Context,
    store::{model_requests, retention, turns},
};

/// How often is looked for what is due.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The pause before the next part, so that what people wait for comes between.
const PAUSE: Duration = Duration::from_millis(20);

/// What there is of deleted conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// How many conversations.
    pub kept: i64,
    /// How many of them have been kept for long enough.
    pub due: i64,
    /// How many tool calls those have.
    pub due_calls: i64,
    /// When the first of all was deleted.
    pub oldest: Option<DateTime<Utc>>,
}

/// Counts what was deleted, of which is due what was deleted so long ago.
pub async fn count_deleted(db: &Database, kept_for: Duration) -> sqlx::Result<Deleted> {
    let time = due_time(db, kept_for).await?;
    let row = retention::count(db, time).await?;
    let due_calls = retention::count_due_calls(db, time).await?;
    Ok(Deleted { kept: row.kept, due: row.due, due_calls, oldest: row.oldest })
}

/// Purges all that was deleted so long ago, but for conversations in which a turn still runs.
pub async fn purge_all_due(db: &Database, kept_for: Duration) -> sqlx::Result<()> {
    while purge_part(db, kept_for).await? {
        tokio::time::sleep(PAUSE).await;
    }
    // A journal that a reader still needs is emptied by the server, or by the next purge.
    db.empty_journal().await.map(|_| ())
}

/// Purges what was deleted, when it is due, until the server drains.
pub(super) async fn purge_deleted(context: Arc<Context>) {
    let kept_for = context.lifetimes.deleted;
    // Whether the journal of an embedded database may still hold texts that were purged.
    let mut journal_has_purged = false;
    loop {
        let pause = match purge_part(&context.db, kept_for).await {
            Ok(true) => {
                journal_has_purged = true;
                PAUSE
            }
            Ok(false) => {
                if journal_has_purged {
                    journal_has_purged = !empty_journal(&context.db).await;
                }
                if let Err(error) = model_requests::delete_expired(&context.db, now()).await {
                    tracing::warn!(%error, "requests that no longer count could not be deleted");
                }
                LOOK_EVERY
            }
            Err(error) => {
                tracing::warn!(%error, "what was deleted could not be purged");
                LOOK_EVERY
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

/// Purges a part of one conversation that is due. False when none is. Whoever else purges the same does nothing wrong: each
/// deletes what is still there.
async fn purge_part(db: &Database, kept_for: Duration) -> sqlx::Result<bool> {
    let time = due_time(db, kept_for).await?;
    let Some(id) = retention::find_due(db, time).await? else { return Ok(false) };
    if !with_retries(|| retention::delete_part(db, id)).await? {
        tracing::info!(conversation = id.0, "a deleted conversation was purged");
    }
    Ok(true)
}

/// What was deleted by then is due.
async fn due_time(db: &Database, kept_for: Duration) -> sqlx::Result<DateTime<Utc>> {
    Ok(turns::database_now(db).await? - kept_for)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::{
        SqlitePool,
        sqlite::{SqliteConnectOptions, SqlitePoolOptions},
    };
    use tallybook_database::{Database, select};

    use super::purge_all_due;

    /// SQLite has one writer. A statement that writes beside it can keep a turn's write waiting until that fails.
    #[tokio::test]
    async fn purging_writes_through_the_writer_alone() {
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
