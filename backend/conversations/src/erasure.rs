//! Erases the conversations and usage of one user at once, without the retention period.

use std::time::Duration;

use tallybook_accounts::UserId;
use tallybook_database::{Database, now, with_retries};
use tokio::time::{Instant, sleep};

use crate::store::{erasure, retention};

/// Maximum wait for running turns to stop. After that, they lose their rows, and their next write ends them.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval between checks whether turns have stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Pause between two parts, so that other writes are not held up.
const PAUSE: Duration = Duration::from_millis(20);

/// Erases all conversations of a user, with everything that belongs to them, and the user's direct model calls. Stops
/// running turns first. Returns the number of conversations. Each transaction is small, and repeating an interrupted
/// erasure continues it. The account must have ended before.
pub async fn erase_conversations(db: &Database, user: UserId) -> sqlx::Result<u64> {
    stop_turns(db, user).await?;
    let mut erased = 0;
    while let Some(conversation) = erasure::find_conversation(db, user).await? {
        while with_retries(|| retention::delete_part(db, conversation)).await? {
            sleep(PAUSE).await;
        }
        erased += 1;
    }
    while with_retries(|| erasure::delete_plain_calls(db, user)).await? {
        sleep(PAUSE).await;
    }
    erasure::delete_requests(db, user).await?;
    // If a reader still needs the database's journal, the server or the next purge empties it.
    db.empty_journal().await?;
    Ok(erased)
}

/// Requests a stop of the user's running turns, and waits until no process runs one.
async fn stop_turns(db: &Database, user: UserId) -> sqlx::Result<()> {
    erasure::request_stops(db, user, now()).await?;
    let deadline = Instant::now() + STOP_TIMEOUT;
    while erasure::count_running(db, user, db.reader().now().await?).await? > 0 {
        if Instant::now() > deadline {
            tracing::warn!(user = user.0, "some answers of an erased user did not stop in time");
            return Ok(());
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
