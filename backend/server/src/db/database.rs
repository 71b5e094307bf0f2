//! Pools and transactions of either engine.

use std::sync::Arc;

use sqlx::{MySqlPool, SqlitePool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    failure::before_commit,
    timeouts::{WRITER_QUEUE_TIMEOUT, in_time, in_writer_time, within},
};

/// The default of `SQLITE_MAX_LENGTH`, which holds for a value and for a row.
const SQLITE_MAX_STATEMENT_BYTES: u64 = 1_000_000_000;

/// Bytes of a statement beside its large values.
const STATEMENT_ROOM: u64 = 64 * 1024;

/// Every database accepts statements of this size, so it is not asked about smaller ones.
const ALWAYS_ACCEPTED_BYTES: u64 = 512 * 1024;

/// A pool on one of the two engines.
#[derive(Clone, Debug)]
pub enum Database {
    /// MySQL or MariaDB: the connections, and the places of those who write, fewer than there are connections. Who wants to write
    /// waits for a place, first come, first served; a pool without a free connection is then a server that does not answer, and
    /// those who read find one however many write.
    MySql(MySqlPool, Arc<Semaphore>),
    /// An embedded file: connections that read, and the one that writes. Who wants to write waits for that one, first come,
    /// first served: SQLite itself has those who wait sleep and look again, ever longer, while others overtake them. And what it
    /// has read of the file stays valid, since nobody else changes it.
    Sqlite(SqlitePool, SqlitePool),
}

/// An open transaction. Dropping it rolls back.
#[derive(Debug)]
pub enum Transaction {
    /// On MySQL or MariaDB; it holds a place among those who write until its end.
    MySql(sqlx::Transaction<'static, sqlx::MySql>, OwnedSemaphorePermit),
    /// On SQLite; it holds the write lock from its beginning.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
}

impl Database {
    /// Begins a transaction for writing. SQLite's takes the write lock at once: a lock taken at the first write may fail
    /// after reads that would then have to be repeated.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        Ok(match self {
            Self::MySql(pool, places) => {
                let place = place_to_write(places).await?;
                Transaction::MySql(in_time(pool.begin()).await.map_err(before_commit)?, place)
            }
            Self::Sqlite(_, writer) => Transaction::Sqlite(in_writer_time(writer.begin_with("BEGIN IMMEDIATE")).await?),
        })
    }

    /// How many connections are in use, and how many wait to be.
    pub fn connections(&self) -> (usize, usize) {
        let (all, idle) = match self {
            Self::MySql(pool, _) => (pool.size(), pool.num_idle()),
            Self::Sqlite(readers, writer) => (readers.size() + writer.size(), readers.num_idle() + writer.num_idle()),
        };
        ((all as usize).saturating_sub(idle), idle)
    }

    /// Closes all connections, and waits until they are.
    pub async fn close(&self) {
        match self {
            Self::MySql(pool, _) => pool.close().await,
            Self::Sqlite(readers, writer) => {
                readers.close().await;
                writer.close().await;
            }
        }
    }

    /// Whether only this process can use the database.
    pub fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite(..))
    }
}

impl Transaction {
    /// Returns how many bytes one statement may have, with all its values.
    pub async fn max_statement_bytes(&mut self) -> sqlx::Result<u64> {
        match self {
            Self::MySql(tx, _) => {
                let limit = sqlx::query_scalar("SELECT @@max_allowed_packet").fetch_one(&mut **tx);
                in_time(limit).await.map_err(before_commit)
            }
            Self::Sqlite(_) => Ok(SQLITE_MAX_STATEMENT_BYTES),
        }
    }

    /// Fails if a statement whose large values have `bytes` bytes is larger than the database accepts. Call it before such a
    /// statement: MySQL closes the connection on one, which looks like an outage that passes.
    pub(crate) async fn check_statement_size(&mut self, bytes: usize) -> sqlx::Result<()> {
        let bytes = bytes as u64 + STATEMENT_ROOM;
        if bytes <= ALWAYS_ACCEPTED_BYTES || bytes <= self.max_statement_bytes().await? {
            return Ok(());
        }
        Err(sqlx::Error::Encode(format!("a statement of {bytes} bytes is larger than the database accepts").into()))
    }

    /// Makes everything done in it last.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::MySql(transaction, _place) => in_time(transaction.commit()).await,
            Self::Sqlite(transaction) => in_time(transaction.commit()).await,
        }
    }
}

/// Waits for a place among those who write to a server.
pub(crate) async fn place_to_write(places: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
    let place = Arc::clone(places).acquire_owned();
    within(WRITER_QUEUE_TIMEOUT, async { place.await.map_err(|_| sqlx::Error::PoolClosed) }).await
}
