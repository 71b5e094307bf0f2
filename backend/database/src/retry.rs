//! Retries transactions that the engine rolled back.

use std::{fmt, future::Future, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::time::Instant;

use crate::failure::{is_rolled_back, is_serialization_failure};

/// Maximum number of retries. After a deadlock, one retry is enough, because the other transaction is done by then. A
/// cluster node refuses a commit that conflicts with another node's, which may happen several times.
const MAX_RETRIES: usize = 4;

/// Pause before the first retry. Each further pause is twice as long, plus a random part of up to as much again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Time after the first attempt's start after which no retry begins and the caller gets the error. Each attempt may
/// have waited for connections or locks.
const MAX_RETRY_TIME: Duration = Duration::from_secs(12);

/// An error of a transaction, or of an operation that is one transaction.
pub trait TransactionError: fmt::Display {
    /// Returns `true` if nothing was stored and a retry may succeed.
    fn is_rolled_back(&self) -> bool;
}

impl TransactionError for sqlx::Error {
    fn is_rolled_back(&self) -> bool {
        is_rolled_back(self)
    }
}

/// Runs a whole transaction, and retries it if it was rolled back.
pub async fn with_retries<T, E, W>(mut work: impl FnMut() -> W) -> Result<T, E>
where
    E: TransactionError,
    W: Future<Output = Result<T, E>>,
{
    let began = Instant::now();
    for pause in pauses() {
        match work().await {
            Err(error) if error.is_rolled_back() && began.elapsed() < MAX_RETRY_TIME => {
                tracing::info!(%error, "a transaction was rolled back; retrying");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
    }
    work().await
}

/// Runs a statement that is a transaction of its own, and retries it if the server refused it at once. A timeout of a
/// lock is not retried, because the caller has waited long enough.
pub(crate) async fn retry_on_conflict<T, W>(mut statement: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for pause in pauses() {
        match statement().await {
            Err(error) if is_serialization_failure(&error) => {}
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
    }
    statement().await
}

fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_times(MAX_RETRIES).with_jitter().build()
}
