//! How long the database is waited for.

use std::{future::Future, io, time::Duration};

use tokio::time::timeout;

/// How long a caller waits for a connection, and a statement for another one's lock. Longer than any transaction of ours
/// takes, and short enough for a person who waits for the answer.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long who writes waits for those who came before, on either engine. Each of them is done in milliseconds, so a long queue is
/// no fault: it is many people at once.
pub(super) const WRITER_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long is paused between two attempts to get what is not there yet.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How long one use of the database may take: both of the waits above, each at its longest. A server that has stopped
/// answering without closing its connections is noticed by nothing else.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a statement may take whose caller waits for it no longer than for others, but counts it as one that runs: the
/// database goes on with what nobody waits for.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a statement of a command may take that reads the whole database. An operator sees it, and can end it.
const COMMAND_TIMEOUT: Duration = Duration::from_hours(1);

/// The outcome of `work`, or an error when it takes too long.
// Not `async`, which would hold the work twice and so make every future that uses the database larger.
pub(crate) fn in_time<T>(work: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    within(STATEMENT_TIMEOUT, work)
}

/// The same for what first waits for the one connection that writes to the embedded database.
pub(crate) fn in_writer_time<T>(work: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    within(WRITER_QUEUE_TIMEOUT + STATEMENT_TIMEOUT, work)
}

/// The same for statements that take long and that somebody keeps an account of.
pub(crate) fn in_long_time<T>(work: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    within(LONG_STATEMENT_TIMEOUT, work)
}

/// The same for a command of the operator's that reads the whole database.
pub(crate) fn in_command_time<T>(work: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    within(COMMAND_TIMEOUT, work)
}

/// The same with a limit of the caller's own.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let message = format!("the database gave no answer within {} seconds", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
    })
}
