//! How long the database is waited for, and what is done again when the engine asks for it.

use std::{future::Future, io, time::Duration};

use tokio::time::timeout;

/// How long a caller may wait for a connection, and a statement for a lock.
pub(super) const WAIT: Duration = Duration::from_secs(5);

/// How long one use of the database may take, with all its waiting. A server that has stopped answering without closing
/// its connections is noticed by nothing else.
const LIMIT: Duration = Duration::from_secs(10);

/// How often work is begun again that the engine gave up for the sake of other work.
const DEADLOCK_RETRIES: u32 = 2;

/// SQLSTATE of a deadlock's victim: its transaction is undone, and begun again it goes through.
const DEADLOCK: &str = "40001";

/// The outcome of `work`, or an error when it takes too long.
pub(crate) async fn in_time<T>(work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    timeout(LIMIT, work).await.unwrap_or_else(|_| {
        let message = format!("the database gave no answer within {} seconds", LIMIT.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
    })
}

/// Does a whole transaction, again when it fell victim to a deadlock. SQLite has none: its writers queue up.
pub(crate) async fn retried<T, W>(mut work: impl FnMut() -> W) -> sqlx::Result<T>
where
    W: Future<Output = sqlx::Result<T>>,
{
    for _ in 0..DEADLOCK_RETRIES {
        match work().await {
            Err(error) if is_deadlock(&error) => tracing::info!(%error, "begun again after a deadlock"),
            outcome => return outcome,
        }
    }
    work().await
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).is_some_and(|code| code == DEADLOCK)
}
