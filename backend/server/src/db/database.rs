//! Pools and transactions of either engine.

use std::sync::Arc;

use sqlx::{MySqlPool, SqlitePool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::timeouts::in_time;

/// The default of `SQLITE_MAX_LENGTH`, which holds for a value and for a row.
const SQLITE_MAX_STATEMENT_BYTES: u64 = 1_000_000_000;

/// A pool on one of the two engines.
#[derive(Clone, Debug)]
pub enum Database {
    /// MySQL or MariaDB.
    MySql(MySqlPool),
    /// An embedded file, and the queue of those who write to it.
    Sqlite(SqlitePool, WriteQueue),
}

/// An open transaction. Dropping it rolls back.
#[derive(Debug)]
pub enum Transaction {
    /// On MySQL or MariaDB.
    MySql(sqlx::Transaction<'static, sqlx::MySql>),
    /// On SQLite; it holds the write lock from its beginning, and its place in the queue.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>, OwnedSemaphorePermit),
}

/// Who wants to write to a file waits here, first come, first served. SQLite itself has those who wait sleep and look again,
/// ever longer, so that under load some wait for seconds while others overtake them.
#[derive(Clone, Debug)]
pub struct WriteQueue(Arc<Semaphore>);

impl WriteQueue {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    async fn wait(&self) -> sqlx::Result<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)
    }
}

impl Database {
    /// Begins a transaction for writing. SQLite's takes the write lock at once: a lock taken at the first write may fail
    /// after reads that would then have to be repeated.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        Ok(match self {
            Self::MySql(pool) => Transaction::MySql(in_time(pool.begin()).await?),
            Self::Sqlite(pool, queue) => {
                let began = in_time(async { Ok((queue.wait().await?, pool.begin_with("BEGIN IMMEDIATE").await?)) });
                began.await.map(|(place, transaction)| Transaction::Sqlite(transaction, place))?
            }
        })
    }

    /// How many bytes one statement may have, with all its values. A larger one fails each time; on MySQL it may seem as if
    /// the connection had broken by chance.
    pub async fn max_statement_bytes(&self) -> sqlx::Result<u64> {
        match self {
            Self::MySql(pool) => {
                in_time(
                    sqlx::query_scalar(
                        "SELECT impl Database {
max_allowed_packet",
                    )
                    .fetch_one(pool),
                )
                .await
            }
            Self::Sqlite(..) => Ok(SQLITE_MAX_STATEMENT_BYTES),
        }
    }

    /// How many connections are in use, and how many wait to be.
    pub fn connections(&self) -> (usize, usize) {
        let (all, idle) = match self {
            Self::MySql(pool) => (pool.size(), pool.num_idle()),
            Self::Sqlite(pool, _) => (pool.size(), pool.num_idle()),
        };
        ((all as usize).saturating_sub(idle), idle)
    }

    /// Closes all connections, and waits until they are.
    pub async fn close(&self) {
        match self {
            Self::MySql(pool) => pool.close().await,
            Self::Sqlite(pool, _) => pool.close().await,
        }
    }

    /// Whether only this process can use the database.
    pub fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite(..))
    }
}

impl Transaction {
    /// Makes everything done in it last.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::MySql(transaction) => in_time(transaction.commit()).await,
            Self::Sqlite(transaction, _place) => in_time(transaction.commit()).await,
        }
    }
}
