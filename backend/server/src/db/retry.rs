//! Transactions that are begun again after the engine rolled them back.

use std::{fmt, future::Future, time::Duration};

use super::failure::{is_refused, is_rolled_back};

/// How often a transaction is begun again. After a deadlock once is enough: the other transaction is through by then. Nodes of a
/// cluster refuse at the commit what has met another node's write, which may happen again.
const MAX_RETRIES: u32 = 4;

/// How much longer the pause is before each time than before the last.
const PAUSE: Duration = Duration::from_millis(20);

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
    for retry in 1..=MAX_RETRIES {
        match work().await {
            Err(error) if error.is_rolled_back() => {
                tracing::info!(%error, "a transaction was rolled back and is begun again");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(PAUSE * retry).await;
    }
    work().await
}

/// Runs a statement that is a transaction of its own, and runs it again when a server refused it at once. Whoever has waited for a
/// lock in vain has waited long enough.
pub(crate) async fn unless_refused<T, W>(mut statement: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for retry in 1..=MAX_RETRIES {
        match statement().await {
            Err(error) if is_refused(&error) => {}
            outcome => return outcome,
        }
        tokio::time::sleep(PAUSE * retry).await;
    }
    statement().await
}
