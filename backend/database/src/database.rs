//! The database, and the handles that run statements on it: [`Reader`], [`Writer`] and [`Transaction`]. Two engines are
//! supported: SQLite, and MySQL with its compatible servers such as MariaDB.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use prometheus_client::metrics::counter::Counter;
use sqlx::{
    MySqlConnection, MySqlPool, SqliteConnection, SqlitePool, mysql::MySqlArguments, query_as_with, query_scalar_with,
    query_with, sqlite::SqliteArguments,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    failure::before_commit,
    query::{Column, Handle, Query, Row, Select, Target, WriteResult},
    retry::retry_on_conflict,
    select,
    time::{STATEMENT_TIMEOUT, WRITER_QUEUE_TIMEOUT, now, with_timeout},
};

const NOW: Select = select!("SELECT UTC_TIMESTAMP(6)");

/// Default of SQLite's `SQLITE_MAX_LENGTH`, which limits the size of a value and of a row.
const SQLITE_MAX_STATEMENT_BYTES: u64 = 1_000_000_000;

/// Maximum size of a statement without its large values, in bytes (an estimate).
const STATEMENT_ROOM: u64 = 64 * 1024;

/// Size of a statement that every database is assumed to accept, in bytes. For smaller statements, the limit is not
/// queried.
const ALWAYS_ACCEPTED_BYTES: u64 = 512 * 1024;

/// A database on one of the engines. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Database {
    reader: Reader,
    writer: Writer,
}

/// Counts of what this process has asked the database, for metrics. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct DatabaseCounts {
    /// Statements that were run, without `BEGIN` and `COMMIT`. A retry does not count again.
    pub statements: Counter,
    /// Transactions that were begun, and writing statements that were transactions of their own.
    pub transactions: Counter,
}

/// Handle for statements that read.
#[derive(Clone, Debug)]
pub struct Reader {
    pool: Readers,
    counts: DatabaseCounts,
}

#[derive(Clone, Debug)]
enum Readers {
    MySql(MySqlPool),
    Sqlite(SqlitePool),
}

/// Handle for statements that write. Writes queue in order of arrival.
#[derive(Clone, Debug)]
pub struct Writer {
    pool: Writers,
    counts: DatabaseCounts,
}

#[derive(Clone, Debug)]
enum Writers {
    /// The pool that readers use too. The semaphore limits how many connections write at once, so writes leave some
    /// connections for readers. If the pool nevertheless has no free connection for long, the server does not respond.
    MySql(MySqlPool, Arc<Semaphore>),
    /// A pool with the only connection that writes; the pool is the queue. With several connections, SQLite would let
    /// waiting writers poll at growing intervals and overtake each other. The connection's page cache stays valid,
    /// because no other connection changes the file.
    Sqlite(SqlitePool),
}

/// An open transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    open: Open,
    counts: DatabaseCounts,
}

#[derive(Debug)]
enum Open {
    /// Holds a write permit until the transaction ends.
    MySql(sqlx::Transaction<'static, sqlx::MySql>, OwnedSemaphorePermit),
    /// Holds the write lock from the beginning.
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
    /// Creates a database on MySQL. At most `writers` connections of the pool write at once.
    #[must_use]
    pub fn of_mysql(pool: MySqlPool, writers: usize) -> Self {
        let permits = Arc::new(Semaphore::new(writers));
        Self::of(Readers::MySql(pool.clone()), Writers::MySql(pool, permits))
    }

    /// Creates a database on SQLite. `writer` must be a pool of one connection.
    #[must_use]
    pub fn of_sqlite(readers: SqlitePool, writer: SqlitePool) -> Self {
        Self::of(Readers::Sqlite(readers), Writers::Sqlite(writer))
    }

    fn of(readers: Readers, writers: Writers) -> Self {
        let counts = DatabaseCounts::default();
        Self { reader: Reader { pool: readers, counts: counts.clone() }, writer: Writer { pool: writers, counts } }
    }

    /// Returns the handle for statements that read.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the handle for statements that write.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Begins a transaction that writes. On SQLite, takes the write lock at once. If the first write took the lock, it
    /// could fail because of a concurrent write, and the transaction would have to be repeated.
    pub async fn begin(&self) -> sqlx::Result<Transaction> {
        self.begin_with("BEGIN").await
    }

    /// Starts a transaction that copies rows with `INSERT … SELECT`. At MySQL's default isolation, such a statement
    /// locks the rows that it reads and the gaps between them, so other users' inserts would wait for it.
    pub async fn begin_copy(&self) -> sqlx::Result<Transaction> {
        self.begin_with("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN").await
    }

    async fn begin_with(&self, mysql: &'static str) -> sqlx::Result<Transaction> {
        // Boxed, because beginning may open a connection. In a release build, the future for that takes 36 KB, and every
        // future that begins a transaction would contain it.
        let Writer { pool, counts } = &self.writer;
        let open = match pool {
            Writers::MySql(pool, permits) => {
                let permit = acquire_write_permit(permits).await?;
                let begin = Box::pin(pool.begin_with(mysql));
                Open::MySql(with_timeout(STATEMENT_TIMEOUT, begin).await.map_err(before_commit)?, permit)
            }
            Writers::Sqlite(pool) => {
                let begin = Box::pin(pool.begin_with("BEGIN IMMEDIATE"));
                Open::Sqlite(with_timeout(WRITER_QUEUE_TIMEOUT + STATEMENT_TIMEOUT, begin).await?)
            }
        };
        counts.transactions.inc();
        Ok(Transaction { open, counts: counts.clone() })
    }

    /// Returns the counts of what this process has asked the database.
    #[must_use]
    pub fn counts(&self) -> &DatabaseCounts {
        &self.writer.counts
    }

    /// Returns the number of connections in use, and the number of idle connections.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        let (all, idle) = match (&self.reader.pool, &self.writer.pool) {
            (Readers::Sqlite(readers), Writers::Sqlite(writer)) => {
                (readers.size() + writer.size(), readers.num_idle() + writer.num_idle())
            }
            (Readers::MySql(pool), _) | (_, Writers::MySql(pool, _)) => (pool.size(), pool.num_idle()),
        };
        ((all as usize).saturating_sub(idle), idle)
    }

    /// Closes all connections, and waits until they are closed.
    pub async fn close(&self) {
        match &self.reader.pool {
            Readers::MySql(pool) => pool.close().await,
            Readers::Sqlite(pool) => pool.close().await,
        }
        match &self.writer.pool {
            Writers::MySql(pool, _) => pool.close().await,
            Writers::Sqlite(pool) => pool.close().await,
        }
    }

    /// Returns `true` if the database is an SQLite file, which only this process uses.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        matches!(self.reader.pool, Readers::Sqlite(_))
    }

    /// Returns the pool of the reading connections to an SQLite file. Returns `None` on MySQL.
    pub(crate) fn sqlite_readers(&self) -> Option<&SqlitePool> {
        match &self.reader.pool {
            Readers::Sqlite(pool) => Some(pool),
            Readers::MySql(_) => None,
        }
    }

    /// Returns the pool of the writing connection to an SQLite file. Returns `None` on MySQL.
    pub(crate) fn sqlite_writer(&self) -> Option<&SqlitePool> {
        match &self.writer.pool {
            Writers::Sqlite(pool) => Some(pool),
            Writers::MySql(..) => None,
        }
    }

    /// Returns the pool of the connections to a MySQL server. Returns `None` on SQLite.
    pub(crate) fn mysql_pool(&self) -> Option<&MySqlPool> {
        match &self.reader.pool {
            Readers::MySql(pool) => Some(pool),
            Readers::Sqlite(_) => None,
        }
    }
}

impl Reader {
    /// Creates a query. It is retried if a MySQL server refuses it because of a conflict, or because the cluster node
    /// is not ready.
    pub fn query(&self, sql: Select) -> Query<&Self> {
        self.counts.statements.inc();
        let target = match &self.pool {
            Readers::MySql(pool) => Target::MySql(pool, MySqlArguments::default()),
            Readers::Sqlite(pool) => Target::Sqlite(pool, SqliteArguments::default()),
        };
        Query::new(sql.sql(), target)
    }

    /// Returns the current time by the database's clock, which all replicas share.
    pub async fn now(&self) -> sqlx::Result<DateTime<Utc>> {
        match &self.pool {
            Readers::MySql(_) => self.query(NOW).fetch_value().await,
            // Only this process uses the file, so its own clock is the shared one.
            Readers::Sqlite(_) => Ok(now()),
        }
    }
}

impl Writer {
    /// Creates a statement that runs in a transaction of its own. It is retried if a MySQL server refuses it because of
    /// a conflict, or because the cluster node is not ready.
    pub fn query(&self, sql: &'static str) -> Query<&Self> {
        self.counts.statements.inc();
        self.counts.transactions.inc();
        let target = match &self.pool {
            Writers::MySql(pool, permits) => Target::MySql((pool, permits), MySqlArguments::default()),
            Writers::Sqlite(pool) => Target::Sqlite(pool, SqliteArguments::default()),
        };
        Query::new(sql, target)
    }
}

impl Transaction {
    /// Creates a statement. If the connection breaks, the error is marked as one before the commit, so that
    /// [`with_retries`](crate::with_retries) can retry the transaction.
    pub fn query(&mut self, sql: &'static str) -> Query<&mut Self> {
        self.counts.statements.inc();
        let target = match &mut self.open {
            Open::MySql(transaction, _) => Target::MySql(&mut **transaction, MySqlArguments::default()),
            Open::Sqlite(transaction) => Target::Sqlite(&mut **transaction, SqliteArguments::default()),
        };
        Query::new(sql, target)
    }

    /// Returns the current time by the database's clock, which all replicas share.
    pub async fn now(&mut self) -> sqlx::Result<DateTime<Utc>> {
        match &self.open {
            Open::MySql(..) => self.query(NOW.sql()).fetch_value().await,
            Open::Sqlite(_) => Ok(now()),
        }
    }

    /// Returns the maximum size of a statement including its values, in bytes.
    pub async fn max_statement_bytes(&mut self) -> sqlx::Result<u64> {
        match &self.open {
            Open::MySql(..) => self.query("SELECT @@max_allowed_packet").fetch_value().await,
            Open::Sqlite(_) => Ok(SQLITE_MAX_STATEMENT_BYTES),
        }
    }

    /// Fails if the database would not accept a statement whose large values take `bytes` bytes. Call this before each
    /// such statement: MySQL closes the connection if a statement is too large, which looks like a temporary outage.
    pub async fn check_statement_size(&mut self, bytes: usize) -> sqlx::Result<()> {
        let bytes = bytes as u64 + STATEMENT_ROOM;
        if bytes <= ALWAYS_ACCEPTED_BYTES || bytes <= self.max_statement_bytes().await? {
            return Ok(());
        }
        Err(sqlx::Error::Encode(format!("a statement of {bytes} bytes is larger than the database's limit").into()))
    }

    /// Commits the transaction. After an error, the transaction may have been committed nevertheless.
    pub async fn commit(self) -> sqlx::Result<()> {
        match self.open {
            Open::MySql(transaction, _permit) => with_timeout(STATEMENT_TIMEOUT, transaction.commit()).await,
            Open::Sqlite(transaction) => with_timeout(STATEMENT_TIMEOUT, transaction.commit()).await,
        }
    }
}

/// Waits for a permit to write to a MySQL server, for at most [`WRITER_QUEUE_TIMEOUT`].
pub(crate) async fn acquire_write_permit(permits: &Arc<Semaphore>) -> sqlx::Result<OwnedSemaphorePermit> {
    let permit = Arc::clone(permits).acquire_owned();
    with_timeout(WRITER_QUEUE_TIMEOUT, async { permit.await.map_err(|_| sqlx::Error::PoolClosed) }).await
}

/// Runs a statement on a reader's pool.
macro_rules! read {
    ($query:expr, $build:ident, $fetch:ident) => {{
        let (sql, target, timeout) = $query.into_parts()?;
        match target {
            Target::MySql(pool, arguments) => {
                let run = || with_timeout(timeout, $build(sql.clone(), arguments.clone()).$fetch(pool));
                retry_on_conflict(run).await
            }
            Target::Sqlite(pool, arguments) => with_timeout(timeout, $build(sql, arguments).$fetch(pool)).await,
        }
    }};
}

/// Runs a statement in a transaction.
macro_rules! run_in_transaction {
    ($query:expr, $build:ident, $fetch:ident) => {{
        let (sql, target, timeout) = $query.into_parts()?;
        match target {
            Target::MySql(connection, arguments) => {
                with_timeout(timeout, $build(sql, arguments).$fetch(connection)).await
            }
            Target::Sqlite(connection, arguments) => {
                with_timeout(timeout, $build(sql, arguments).$fetch(connection)).await
            }
        }
        .map_err(before_commit)
    }};
}

macro_rules! fetch_methods {
    ($handle:ty, $run:ident) => {
        impl Query<$handle> {
            /// Returns all rows.
            pub async fn fetch_all<R: Row>(self) -> sqlx::Result<Vec<R>> {
                $run!(self, query_as_with, fetch_all)
            }

            /// Returns the first row, if there is any.
            pub async fn fetch_optional<R: Row>(self) -> sqlx::Result<Option<R>> {
                $run!(self, query_as_with, fetch_optional)
            }

            /// Returns the first row, or `RowNotFound`.
            pub async fn fetch_one<R: Row>(self) -> sqlx::Result<R> {
                self.fetch_optional().await?.ok_or(sqlx::Error::RowNotFound)
            }

            /// Returns the first column of all rows.
            pub async fn fetch_values<T: Column>(self) -> sqlx::Result<Vec<T>> {
                $run!(self, query_scalar_with, fetch_all)
            }

            /// Returns the first column of the first row, if there is any.
            pub async fn fetch_optional_value<T: Column>(self) -> sqlx::Result<Option<T>> {
                $run!(self, query_scalar_with, fetch_optional)
            }

            /// Returns the first column of the first row, or `RowNotFound`.
            pub async fn fetch_value<T: Column>(self) -> sqlx::Result<T> {
                self.fetch_optional_value().await?.ok_or(sqlx::Error::RowNotFound)
            }
        }
    };
}

fetch_methods!(&Reader, read);
fetch_methods!(&mut Transaction, run_in_transaction);

impl Query<&Writer> {
    /// Runs the statement as a transaction of its own, after earlier writers in the queue.
    pub async fn execute(self) -> sqlx::Result<WriteResult> {
        let (sql, target, timeout) = self.into_parts()?;
        match target {
            Target::MySql((pool, permits), arguments) => {
                let _permit = acquire_write_permit(permits).await?;
                let run = || with_timeout(timeout, query_with(sql.clone(), arguments.clone()).execute(pool));
                retry_on_conflict(run).await.map(WriteResult::from)
            }
            Target::Sqlite(pool, arguments) => {
                let run = query_with(sql, arguments).execute(pool);
                with_timeout(WRITER_QUEUE_TIMEOUT + timeout, run).await.map(WriteResult::from)
            }
        }
    }
}

impl Query<&mut Transaction> {
    /// Runs the statement.
    pub async fn execute(self) -> sqlx::Result<WriteResult> {
        let (sql, target, timeout) = self.into_parts()?;
        match target {
            Target::MySql(connection, arguments) => {
                with_timeout(timeout, query_with(sql, arguments).execute(connection)).await.map(WriteResult::from)
            }
            Target::Sqlite(connection, arguments) => {
                with_timeout(timeout, query_with(sql, arguments).execute(connection)).await.map(WriteResult::from)
            }
        }
        .map_err(before_commit)
    }
}
