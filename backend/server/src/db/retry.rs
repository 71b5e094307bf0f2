//! Transactions that are begun again after the engine rolled them back.

use std::{fmt, future::Future, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::time::Instant;

use super::failure::{is_refused, is_rolled_back};

/// How often a transaction is begun again. After a deadlock once is enough: the other transaction is through by then. Nodes of a
/// cluster refuse at the commit what has met another node's write, which may happen again.
const MAX_RETRIES: usize = 4;

/// How long the pause before the first of them is. Each is twice as long as the one before, and up to as much again comes on top,
/// so that those who met do not meet again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// After this time a transaction is not begun again: a caller that has waited so long for connections or locks, gets the error.
const MAX_RETRY_TIME: Duration = Duration::from_secs(12);

/// An error of a transaction, or of a use case that is one.
pub(crate) trait TransactionError: fmt::Display {
    /// Whether nothing of it was stored, and it may well succeed when it is begun again.
    fn is_rolled_back(&self) -> bool;
}

impl TransactionError for sqlx::Error {
    fn is_rolled_back(&self) -> bool {
        is_rolled_back(self)
    }
}

/// Runs a whole transaction, and runs it again when it was rolled back and nothing of it was stored.
pub(crate) async fn with_retries<T, E, W>(mut work: impl FnMut() -> W) -> Result<T, E>
where
    E: TransactionError,
    W: Future<Output = Result<T, E>>,
{
    let began = Instant::now();
    for pause in pauses() {
        match work().await {
            Err(error) if error.is_rolled_back() && began.elapsed() < MAX_RETRY_TIME => {
                tracing::info!(%error, "a transaction was rolled back and is begun again");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
    }
    work().await
}

/// Runs a statement that is a transaction of its own, and runs it again when a server refused it at once. Whoever has waited for a
/// lock in vain has waited long enough.
pub(crate) async fn unless_refused<T, W>(mut statement: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for pause in pauses() {
        match statement().await {
            Err(error) if is_refused(&error) => {}
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
    }
    statement().await
}

fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_times(MAX_RETRIES).with_jitter().build()
}
