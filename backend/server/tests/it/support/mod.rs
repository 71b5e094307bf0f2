//! The kit: a server with a database of its own, a client for it, and its event streams.

mod app;
mod engine;
mod events;
mod pool;
mod program;
mod proxy;
mod raw;
mod reused;
mod server;
mod tools;
mod trap;

use std::time::Duration;

pub(crate) use app::{Provider, TestApp};
pub(crate) use engine::Engine;
pub(crate) use events::{EventReader, FeedReader, end_of, names};
pub(crate) use pool::Pool;
pub(crate) use program::Program;
pub(crate) use proxy::Proxy;
pub(crate) use raw::RawConnection;
pub(crate) use tools::{Counts, Hangs, NoArgs, Panics, Writes};
pub(crate) use trap::Trap;

/// Where nobody listens: a port that no system gives away by itself.
pub(crate) const NOBODY: &str = "127.0.0.1:9";

/// How long a test waits for something that must happen, before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How long it waits for an event of a stream, signs of life or not: what comes before some takes seconds.
pub(crate) const EVENT_PATIENCE: Duration = Duration::from_mins(1);

/// How long it looks away in between: other tests need the processors.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Waits until a condition that nothing announces has come true.
pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "within {PATIENCE:?}: {what}");
}

/// Makes one test for SQLite and one for every server that `MYSQL_TEST_URL` names.
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

/// Reads rows as tuples, whichever engine the test runs on.
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

/// Runs a statement, whichever engine the test runs on.
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
