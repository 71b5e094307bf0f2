//! Test kit: a server with its own database, a client for it, and readers of its event streams.

mod app;
mod bucket;
mod engine;
mod events;
mod file_store;
mod form;
mod pool;
mod program;
mod proxy;
mod raw;
mod reused;
mod server;
mod tools;
mod trap;

use std::time::Duration;

pub(crate) use app::{Builder as AppBuilder, Provider, TestApp};
pub(crate) use bucket::{Bucket, BucketState};
pub(crate) use engine::Engine;
pub(crate) use events::{EventReader, FeedReader, end_of, names};
pub(crate) use file_store::FileStore;
pub(crate) use form::Form;
pub(crate) use pool::Pool;
pub(crate) use program::Program;
pub(crate) use proxy::Proxy;
pub(crate) use raw::RawConnection;
pub(crate) use tools::{Counts, Hangs, NoArgs, Panics, Writes};
pub(crate) use trap::Trap;

/// Address at which nothing listens: a port that no system assigns by itself.
pub(crate) const UNREACHABLE: &str = "127.0.0.1:9";

/// Timeout for conditions that a test waits for.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for an event of a stream, no matter how many keep-alives arrive: some events take seconds.
pub(crate) const EVENT_TIMEOUT: Duration = Duration::from_mins(1);

/// Interval between checks of a condition, since other tests need the processors.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until a condition is true that must be polled. `what` describes the condition in the failure.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFnMut() -> bool) {
    within(TIMEOUT, what, condition).await;
}

/// Waits until a condition is true, for at most `timeout`.
pub(crate) async fn within(timeout: Duration, what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(timeout, wait).await.is_ok(), "within {timeout:?}: {what}");
}

/// Defines one test for SQLite, and one for all servers in `MYSQL_TEST_URL`.
macro_rules! on_every_engine {
    ($($(#[doc = $doc:literal])* async fn $name:ident($engine:ident: Engine) $body:block)*) => {
        $(
            $(#[doc = $doc])*
            mod $name {
                use super::*;

                async fn run($engine: Engine) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    run(Engine::sqlite()).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn mysql() {
                    for engine in Engine::every_mysql_with_tables().await {
                        run(engine).await;
                    }
                }
            }
        )*
    };
}
pub(crate) use on_every_engine;

/// Reads rows as tuples, on either engine.
macro_rules! rows {
    ($source:expr, $tuple:ty, $sql:expr) => {
        match &$source.pool().await {
            $crate::support::Pool::MySql(pool) => {
                sqlx::query_as::<_, $tuple>($sql).fetch_all(pool).await.expect("the query fits the tables")
            }
            $crate::support::Pool::Sqlite(pool) => {
                sqlx::query_as::<_, $tuple>($sql).fetch_all(pool).await.expect("the query fits the tables")
            }
        }
    };
}
pub(crate) use rows;

/// Runs a statement, on either engine.
macro_rules! execute {
    ($source:expr, $sql:expr) => {
        match &$source.pool().await {
            $crate::support::Pool::MySql(pool) => {
                sqlx::query($sql).execute(pool).await.expect("the statement fits the tables");
            }
            $crate::support::Pool::Sqlite(pool) => {
                sqlx::query($sql).execute(pool).await.expect("the statement fits the tables");
            }
        }
    };
}
pub(crate) use execute;
