//! The database: pools, transactions, migrations, and the two macros by which one SQL text serves both engines.
//! Queries themselves live with what they store (`conversation::repository`, …); this room knows no table but SQLite's
//! pragmas.

mod error;
mod limits;
mod lock;

use std::{path::Path, str::FromStr};

use chrono::{DateTime, SubsecRound, Utc};
use sqlx::{
    Connection, Executor, MySqlPool, SqlitePool,
    mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlQueryResult},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteQueryResult, SqliteSynchronous},
};

pub use error::DbError;
pub(crate) use limits::{in_time, retried};
pub use lock::DatabaseLock;

use limits::WAIT;

static MYSQL_MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations/mysql");
static SQLITE_MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations/sqlite");

/// A statement that waits for another one's lock is given up after the seconds of [`WAIT`] instead of fifty.
const MYSQL_SESSION: &str = "SET SESSION innodb_lock_wait_timeout = 5";

/// A pool on one of the two engines.
#[derive(Clone, Debug)]
pub enum Database {
    /// MySQL or MariaDB.
    MySql(MySqlPool),
    /// An embedded file.
    Sqlite(SqlitePool),
}

/// An open transaction. Dropping it rolls back.
#[derive(Debug)]
pub enum Transaction {
    /// On MySQL or MariaDB.
    MySql(sqlx::Transaction<'static, sqlx::MySql>),
    /// On SQLite; it holds the write lock from its beginning.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
}

/// Runs one body on whichever engine the pool is of, for as long as the database may take. The body is compiled once for
/// each.
macro_rules! on_db {
    ($db:expr, |$pool:ident| $body:expr) => {
        match $db {
            $crate::db::Database::MySql($pool) => $crate::db::in_time(async { $body }).await,
            $crate::db::Database::Sqlite($pool) => $crate::db::in_time(async { $body }).await,
        }
    };
}

/// Runs one body on the connection of whichever engine the transaction is on, for as long as the database may take.
macro_rules! on_tx {
    ($tx:expr, |$connection:ident| $body:expr) => {
        match $tx {
            $crate::db::Transaction::MySql(transaction) => {
                let $connection = &mut **transaction;
                $crate::db::in_time(async { $body }).await
            }
            $crate::db::Transaction::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $crate::db::in_time(async { $body }).await
            }
        }
    };
}

pub(crate) use {on_db, on_tx};

impl Database {
    /// Opens `mysql://…` or `sqlite:…`, and brings the tables up to date. An SQLite file and its folder are made when
    /// missing.
    pub async fn connect(url: &str) -> Result<Self, DbError> {
        let db = if url.starts_with("sqlite:") {
            Self::connect_sqlite(url).await?
        } else if url.starts_with("mysql:") || url.starts_with("mariadb:") {
            Self::connect_mysql(url).await?
        } else {
            return Err(DbError::UnknownScheme);
        };
        match &db {
            Self::MySql(pool) => MYSQL_MIGRATIONS.run(pool).await?,
            Self::Sqlite(pool) => SQLITE_MIGRATIONS.run(pool).await?,
        }
        Ok(db)
    }

    async fn connect_mysql(url: &str) -> Result<Self, DbError> {
        let options = MySqlConnectOptions::from_str(url).map_err(DbError::BadUrl)?;
        let pool = MySqlPoolOptions::new()
            .max_connections(16)
            .acquire_timeout(WAIT)
            .after_connect(|connection, _| Box::pin(async move { connection.execute(MYSQL_SESSION).await.map(|_| ()) }))
            // The pool itself waits without end for a connection that comes back from a statement which took too long.
            .after_release(|connection, _| Box::pin(async move { in_time(connection.ping()).await.map(|()| true) }));
        Ok(Self::MySql(pool.connect_with(options).await.map_err(DbError::Connect)?))
    }

    async fn connect_sqlite(url: &str) -> Result<Self, DbError> {
        // WAL lets readers go on while one writes. NORMAL keeps every commit when the process dies; only a power cut may
        // take back the last ones, never tear the file.
        let options = SqliteConnectOptions::from_str(url)
            .map_err(DbError::BadUrl)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(WAIT);
        create_folder_of(options.get_filename()).await?;
        let pool = SqlitePoolOptions::new().max_connections(8).acquire_timeout(WAIT).after_release(|connection, _| {
            Box::pin(async move {
                // A failed write, as on a full disk, may undo SQLite's transaction without the pool's knowledge. Such a
                // connection would refuse every later one. The ping waits until what was left to do is done.
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        });
        Ok(Self::Sqlite(pool.connect_with(options).await.map_err(DbError::Connect)?))
    }

    /// Begins a transaction for writing. SQLite's takes the write lock at once: a lock taken at the first write may fail
    /// after reads that would then have to be repeated.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        Ok(match self {
            Self::MySql(pool) => Transaction::MySql(in_time(pool.begin()).await?),
            Self::Sqlite(pool) => Transaction::Sqlite(in_time(pool.begin_with("BEGIN IMMEDIATE")).await?),
        })
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        on_db!(self, |pool| sqlx::query("SELECT 1").execute(pool).await.map(|_| ()))
    }

    /// Closes all connections, and waits until they are.
    pub async fn close(&self) {
        match self {
            Self::MySql(pool) => pool.close().await,
            Self::Sqlite(pool) => pool.close().await,
        }
    }

    /// Whether only this process can use the database.
    pub fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }
}

/// Makes the folder that a file is to lie in.
async fn create_folder_of(file: &Path) -> Result<(), DbError> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let made = tokio::fs::create_dir_all(folder).await;
    made.map_err(|source| DbError::Folder { folder: folder.display().to_string(), source })
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

/// The key of a row just inserted, which the two engines tell in different ways.
pub(crate) trait InsertedId {
    /// The key that the database chose.
    fn inserted_id(&self) -> i64;
}

impl InsertedId for MySqlQueryResult {
    fn inserted_id(&self) -> i64 {
        // Keys are BIGINT, so the u64 that the protocol carries always fits.
        i64::try_from(self.last_insert_id()).unwrap_or(i64::MAX)
    }
}

impl InsertedId for SqliteQueryResult {
    fn inserted_id(&self) -> i64 {
        self.last_insert_rowid()
    }
}

/// The present, as precisely as both engines store it.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}
