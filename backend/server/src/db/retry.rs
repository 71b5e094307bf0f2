//! Transactions that are retried after the engine rolled them back.

use std::future::Future;

use super::failure::is_rolled_back;

/// How often a transaction is retried. After a deadlock one retry is enough: the other transaction is through by then.
const MAX_RETRIES: u32 = 2;

/// Runs a whole transaction, and runs it again when the engine rolled it back in favour of another one.
pub(crate) async fn with_retries<T, W>(mut work: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for _ in 0..MAX_RETRIES {
        match work().await {
            Err(error) if is_rolled_back(&error) => {
                tracing::info!(%error, "a transaction was rolled back and is retried");
            }
            outcome => return outcome,
        }
    }
    work().await
}
