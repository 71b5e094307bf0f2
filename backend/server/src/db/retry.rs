//! Transactions that the engine asks to be begun again.

use std::future::Future;

use super::failure::is_undone;

/// How often a transaction is begun again that the engine undid. Two that wait for each other are past each other after
/// one time.
const MAX_RETRIES: u32 = 2;

/// Does a whole transaction, again when the engine undid it for the sake of another one.
pub(crate) async fn retried<T, W>(mut work: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for _ in 0..MAX_RETRIES {
        match work().await {
            Err(error) if is_undone(&error) => tracing::info!(%error, "a transaction is begun again"),
            outcome => return outcome,
        }
    }
    work().await
}
