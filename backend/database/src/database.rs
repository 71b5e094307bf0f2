//! A database on either engine, and the handles through which statements reach it: reader, writer and transaction.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::{MySqlConnection, MySqlPool, SqliteConnection, SqlitePool, mysql::MySqlArguments, sqlite::SqliteArguments};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    clock::now,
    failure::before_commit,
    query::{Handle, Query, Select, Target},
    select,
    timeouts::{STATEMENT_TIMEOUT, WRITER_QUEUE_TIMEOUT, within},
};

const NOW: Select = select!("SELECT UTC_TIMESTAMP(6)");

/// Default of `SQLITE_MAX_LENGTH`, which limits both a value and a row.
const SQLITE_MAX_STATEMENT_BYTES: u64 = 1_000_000_000;

/// Bytes of a statement beside its large values.
const STATEMENT_ROOM: u64 = 64 * 1024;

/// Every database accepts statements of this size, so it is not asked about smaller ones.
const ALWAYS_ACCEPTED_BYTES: u64 = 512 * 1024;

/// A database on one of the two engines.
#[derive(Clone, Debug)]
pub struct Database {
    reader: Reader,
    writer: Writer,
}

/// Connections that read.
#[derive(Clone, Debug)]
pub struct Reader(Readers);

#[derive(Clone, Debug)]
enum Readers {
    MySql(MySqlPool),
    Sqlite(SqlitePool),
}

/// Connections that write. Writers queue up first come, first served.
#[derive(Clone, Debug)]
pub struct Writer(Writers);

#[derive(Clone, Debug)]
enum Writers {
    /// The reader's pool, of which writers use only as many connections as there are permits. So readers always find a free
    /// one, and a pool without a free connection means that the server does not answer.
    MySql(MySqlPool, Arc<Semaphore>),
    /// The only connection that writes. SQLite itself would let waiting writers poll at growing intervals and overtake each
    /// other. The connection's page cache stays valid, because no other connection changes the file.
    Sqlite(SqlitePool),
}

/// An open transaction. Dropping it rolls back.
#[derive(Debug)]
pub struct Transaction(Open);

#[derive(Debug)]
enum Open {
    /// Holds a write permit until the end.
    MySql(sqlx::Transaction<'static, sqlx::MySql>, OwnedSemaphorePermit),
    /// Holds the write lock from its beginning.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
}

impl<'h> Handle for &'h Reader {
    type MySql = &'h MySqlPool;
    type Sqlite = &'h SqlitePool;
}

impl<'h> Handle for &'h Writer {
    type MySql = (&'h MySqlPool, &'h Arc<Semaphore>);
    type Sqlite = &'h SqlitePool;
}

impl<'h> Handle for &'h mut Transaction {
    type MySql = &'h mut MySqlConnection;
    type Sqlite = &'h mut SqliteConnection;
}

impl Database {
    /// Creates a database from a pool, of which at most `writers` connections write at once.
    #[must_use]
    pub fn of_mysql(pool: MySqlPool, writers: usize) -> Self {
        let permits = Arc::new(Semaphore::new(writers));
        Self { reader: Reader(Readers::MySql(pool.clone())), writer: Writer(Writers::MySql(pool, permits)) }
    }

    /// Creates a database from a pool that reads, and a pool of one connection that writes.
    #[must_use]
    pub fn of_sqlite(readers: SqlitePool, writer: SqlitePool) -> Self {
        Self { reader: Reader(Readers::Sqlite(readers)), writer: Writer(Writers::Sqlite(writer)) }
    }

    /// Returns the handle that reads.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the handle that writes.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Begins a transaction for writing. On SQLite it takes the write lock at once: a lock taken at the first write could fail
    /// after reads, which would then have to be repeated.
    pub async fn begin(&self) -> sqlx::Result<Transaction> {
        Ok(Transaction(match &self.writer.0 {
            Writers::MySql(pool, permits) => {
                let permit = acquire_write_permit(permits).await?;
                Open::MySql(within(STATEMENT_TIMEOUT, pool.begin()).await.map_err(before_commit)?, permit)
            }
            Writers::Sqlite(pool) => {
                let begin = pool.begin_with("BEGIN IMMEDIATE");
                Open::Sqlite(within(WRITER_QUEUE_TIMEOUT + STATEMENT_TIMEOUT, begin).await?)
            }
        }))
    }

    /// Returns the number of connections in use, and of idle ones.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        let (all, idle) = match (&self.reader.0, &self.writer.0) {
            (Readers::Sqlite(readers), Writers::Sqlite(writer)) => {
                (readers.size() + writer.size(), readers.num_idle() + writer.num_idle())
            }
            (Readers::MySql(pool), _) | (_, Writers::MySql(pool, _)) => (pool.size(), pool.num_idle()),
        };
        ((all as usize).saturating_sub(idle), idle)
    }

    /// Closes all connections, and waits until they are closed.
    pub async fn close(&self) {
        match &self.reader.0 {
            Readers::MySql(pool) => pool.close().await,
            Readers::Sqlite(pool) => pool.close().await,
        }
        match &self.writer.0 {
            Writers::MySql(pool, _) => pool.close().await,
            Writers::Sqlite(pool) => pool.close().await,
        }
    }

    /// Returns `true` if only this process can use the database.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        matches!(self.reader.0, Readers::Sqlite(_))
    }

    /// Returns the pool that reads the file of an embedded database.
    pub(crate) fn sqlite_readers(&self) -> Option<&SqlitePool> {
        match &self.reader.0 {
            Readers::Sqlite(pool) => Some(pool),
            Readers::MySql(_) => None,
        }
    }

    /// Returns the connection that writes to the file of an embedded database.
    pub(crate) fn sqlite_writer(&self) -> Option<&SqlitePool> {
        match &self.writer.0 {
            Writers::Sqlite(pool) => Some(pool),
            Writers::MySql(..) => None,
        }
    }

    /// Returns the pool on a server.
    pub(crate) fn mysql_pool(&self) -> Option<&MySqlPool> {
        match &self.reader.0 {
            Readers::MySql(pool) => Some(pool),
            Readers::Sqlite(_) => None,
        }
    }
}

impl Reader {
    /// Starts a statement that reads. If a cluster's node refuses the statement in favor of another one, it is run again.
    pub fn query(&self, sql: Select) -> Query<&Self> {
        let target = match &self.0 {
            Readers::MySql(pool) => Target::MySql(pool, MySqlArguments::default()),
            Readers::Sqlite(pool) => Target::Sqlite(pool, SqliteArguments::default()),
        };
        Query::new(sql.sql(), target)
    }

    /// Returns the time by the clock that all servers on this database share.
    pub async fn now(&self) -> sqlx::Result<DateTime<Utc>> {
        match &self.0 {
            Readers::MySql(_) => self.query(NOW).fetch_value().await,
            // Only this process uses the file.
            Readers::Sqlite(_) => Ok(now()),
        }
    }
}

impl Writer {
    /// Starts a statement that writes, as a transaction of its own. If the engine refuses the statement in favor of another
    /// one, it is run again.
    pub fn query(&self, sql: &'static str) -> Query<&Self> {
        let target = match &self.0 {
            Writers::MySql(pool, permits) => Target::MySql((pool, permits), MySqlArguments::default()),
            Writers::Sqlite(pool) => Target::Sqlite(pool, SqliteArguments::default()),
        };
        Query::new(sql, target)
    }
}

impl Transaction {
    /// Starts a statement. If it fails, the error says that the transaction has not come to its commit.
    pub fn query(&mut self, sql: &'static str) -> Query<&mut Self> {
        let target = match &mut self.0 {
            Open::MySql(transaction, _) => Target::MySql(&mut **transaction, MySqlArguments::default()),
            Open::Sqlite(transaction) => Target::Sqlite(&mut **transaction, SqliteArguments::default()),
        };
        Query::new(sql, target)
    }

    /// Returns the time by the clock that all servers on this database share.
    pub async fn now(&mut self) -> sqlx::Result<DateTime<Utc>> {
        match &self.0 {
            Open::MySql(..) => self.query(NOW.sql()).fetch_value().await,
            Open::Sqlite(_) => Ok(now()),
        }
    }

    /// Returns the maximum size of a statement with all its values, in bytes.
    pub async fn max_statement_bytes(&mut self) -> sqlx::Result<u64> {
        match &self.0 {
            Open::MySql(..) => self.query("SELECT @@max_allowed_packet").fetch_value().await,
            Open::Sqlite(_) => Ok(SQLITE_MAX_STATEMENT_BYTES),
        }
    }

    /// Fails if a statement whose large values have `bytes` bytes is larger than the database accepts. Call it before such a
    /// statement: MySQL closes the connection on one, which looks like a temporary outage.
    pub async fn check_statement_size(&mut self, bytes: usize) -> sqlx::Result<()> {
        let bytes = bytes as u64 + STATEMENT_ROOM;
        if bytes <= ALWAYS_ACCEPTED_BYTES || bytes <= self.max_statement_bytes().await? {
            return Ok(());
        }
        Err(sqlx::Error::Encode(format!("a statement of {bytes} bytes is larger than the database accepts").into()))
    }

    /// Commits.
    pub async fn commit(self) -> sqlx::Result<()> {
        match self.0 {
            Open::MySql(transaction, _permit) => within(STATEMENT_TIMEOUT, transaction.commit()).await,
            Open::Sqlite(transaction) => within(STATEMENT_TIMEOUT, transaction.commit()).await,
        }
    }
}

/// Waits for the permission to write to a server.
pub(crate) async fn acquire_write_permit(permits: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
    let permit = Arc::clone(permits).acquire_owned();
    within(WRITER_QUEUE_TIMEOUT, async { permit.await.map_err(|_| sqlx::Error::PoolClosed) }).await
}
