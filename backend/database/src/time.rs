//! The current time in the precision that both engines store, and the timeouts of connections, queues and statements.

use std::{future::Future, io, time::Duration};

use chrono::{DateTime, SubsecRound, Utc};
use tokio::time::timeout;

/// Maximum wait for a connection, and maximum wait of a statement for a lock. Longer than any transaction takes, and
/// short enough for a waiting user.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time in the queue of writers, on either engine. Each write takes milliseconds, so a long queue is a sign of
/// many users, not of a failure.
pub(crate) const WRITER_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause between two attempts to connect or to get a lock.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Default timeout of a statement: the maximum wait for a connection plus the maximum wait for a lock. Only this
/// timeout detects a server that has stopped responding without closing its connections.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of statements that search texts. Their callers must limit the number of running statements, because the
/// database continues a statement after its caller has given up.
pub const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_mins(1);

/// Timeout of an operator's command that reads the whole database. The operator can interrupt it.
pub const COMMAND_TIMEOUT: Duration = Duration::from_hours(1);

/// Returns the outcome of `work`, or an error of the kind `TimedOut` after [`STATEMENT_TIMEOUT`].
// An `async fn` would store `work` twice, and so enlarge every future that uses the database.
pub fn with_default_timeout<T>(work: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    with_timeout(STATEMENT_TIMEOUT, work)
}

/// Returns the outcome of `work`, or an error of the kind `TimedOut` if it takes longer than `limit`.
pub(crate) async fn with_timeout<T>(limit: Duration, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let message = format!("the database did not respond within {} seconds", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
    })
}

/// Digits after the second: microseconds.
const STORED_DIGITS: u16 = 6;

/// Returns the current time, truncated to microseconds.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(STORED_DIGITS)
}
