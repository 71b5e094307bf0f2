//! Pools and transactions of either engine.

use sqlx::{MySqlPool, SqlitePool};

use super::{
    failure::before_commit,
    timeouts::{in_time, in_writer_time},
};

/// The default of `SQLITE_MAX_LENGTH`, which holds for a value and for a row.
const SQLITE_MAX_STATEMENT_BYTES: u64 = 1_000_000_000;

/// A pool on one of the two engines.
#[derive(Clone, Debug)]
pub enum Database {
    /// MySQL or MariaDB.
    MySql(MySqlPool),
    /// An embedded file: connections that read, and the one that writes. Who wants to write waits for that one, first come,
    /// first served: SQLite itself has those who wait sleep and look again, ever longer, while others overtake them. And what it
    /// has read of the file stays valid, since nobody else changes it.
    Sqlite(SqlitePool, SqlitePool),
}

/// An open transaction. Dropping it rolls back.
#[derive(Debug)]
pub enum Transaction {
    /// On MySQL or MariaDB.
    MySql(sqlx::Transaction<'static, sqlx::MySql>),
    /// On SQLite; it holds the write lock from its beginning.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
}

impl Database {
    /// Begins a transaction for writing. SQLite's takes the write lock at once: a lock taken at the first write may fail
    /// after reads that would then have to be repeated.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        Ok(match self {
            Self::MySql(pool) => Transaction::MySql(in_time(pool.begin()).await.map_err(before_commit)?),
            Self::Sqlite(_, writer) => Transaction::Sqlite(in_writer_time(writer.begin_with("BEGIN IMMEDIATE")).await?),
        })
    }

    /// How many bytes one statement may have, with all its values. A larger one fails each time; on MySQL it may seem as if
    /// the connection had broken by chance.
    pub async fn max_statement_bytes(&self) -> sqlx::Result<u64> {
        match self {
            Self::MySql(pool) => in_time(sqlx::query_scalar("SELECT @@max_allowed_packet").fetch_one(pool)).await,
            Self::Sqlite(..) => Ok(SQLITE_MAX_STATEMENT_BYTES),
        }
    }

    /// How many connections are in use, and how many wait to be.
    pub fn connections(&self) -> (usize, usize) {
        let (all, idle) = match self {
            Self::MySql(pool) => (pool.size(), pool.num_idle()),
            Self::Sqlite(readers, writer) => (readers.size() + writer.size(), readers.num_idle() + writer.num_idle()),
        };
        ((all as usize).saturating_sub(idle), idle)
    }

    /// Closes all connections, and waits until they are.
    pub async fn close(&self) {
        match self {
            Self::MySql(pool) => pool.close().await,
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
    /// Makes everything done in it last.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::MySql(transaction) => in_time(transaction.commit()).await,
            Self::Sqlite(transaction) => in_time(transaction.commit()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::timeouts::LOCK_TIMEOUT, Database};

    /// Many who write at once are a long queue, and no database that is out of reach.
    #[tokio::test]
    async fn who_writes_waits_longer_for_those_before_than_for_a_database_that_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("queue.db").display());
        let db = Database::connect(&url.parse().unwrap()).await.unwrap();
        let first = db.begin().await.unwrap();
        let second = tokio::spawn({
            let db = db.clone();
            async move { db.begin().await.map(drop) }
        });
        tokio::task::yield_now().await;
        tokio::time::pause();
        tokio::time::advance(3 * LOCK_TIMEOUT).await;
        tokio::time::resume();
        assert!(!second.is_finished(), "it still waits");
        drop(first);
        second.await.unwrap().unwrap();
    }
}
