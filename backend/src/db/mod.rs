//! The database: pools, transactions, migrations, and the two macros by which one SQL text serves both engines.
//! Queries themselves live with what they store (`conversation::repository`, …); this room knows no table but SQLite's
//! pragmas.

mod error;

use std::{str::FromStr, time::Duration};

use chrono::{DateTime, SubsecRound, Utc};
use sqlx::{
    MySqlPool, SqlitePool,
    mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlQueryResult},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteQueryResult, SqliteSynchronous},
};

pub use error::DbError;

static MYSQL_MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations/mysql");
static SQLITE_MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations/sqlite");

/// How long a statement may wait for SQLite's write lock, and a caller for a connection.
const WAIT: Duration = Duration::from_secs(5);

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

/// Runs one body on whichever engine the pool is of. The body is compiled once for each.
macro_rules! on_db {
    ($db:expr, |$pool:ident| $body:expr) => {
        match $db {
            $crate::db::Database::MySql($pool) => $body,
            $crate::db::Database::Sqlite($pool) => $body,
        }
    };
}

/// Runs one body on the connection of whichever engine the transaction is on.
macro_rules! on_tx {
    ($tx:expr, |$connection:ident| $body:expr) => {
        match $tx {
            $crate::db::Transaction::MySql(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
            $crate::db::Transaction::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $body
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
            let options = MySqlConnectOptions::from_str(url).map_err(DbError::BadUrl)?;
            let pool = MySqlPoolOptions::new().max_connections(16).acquire_timeout(WAIT);
            Self::MySql(pool.connect_with(options).await.map_err(DbError::Connect)?)
        } else {
            return Err(DbError::UnknownScheme);
        };
        match &db {
            Self::MySql(pool) => MYSQL_MIGRATIONS.run(pool).await?,
            Self::Sqlite(pool) => SQLITE_MIGRATIONS.run(pool).await?,
        }
        Ok(db)
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
        if let Some(folder) = options.get_filename().parent().filter(|folder| !folder.as_os_str().is_empty()) {
            tokio::fs::create_dir_all(folder)
                .await
                .map_err(|source| DbError::Folder { folder: folder.display().to_string(), source })?;
        }
        let pool = SqlitePoolOptions::new().max_connections(8).acquire_timeout(WAIT);
        Ok(Self::Sqlite(pool.connect_with(options).await.map_err(DbError::Connect)?))
    }

    /// Begins a transaction for writing. SQLite's takes the write lock at once: a lock taken at the first write may fail
    /// after reads that would then have to be repeated.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        Ok(match self {
            Self::MySql(pool) => Transaction::MySql(pool.begin().await?),
            Self::Sqlite(pool) => Transaction::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
        })
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        on_db!(self, |pool| sqlx::query("SELECT 1").execute(pool).await.map(|_| ()))
    }

    /// Closes all connections, and waits until they are.
    pub async fn close(&self) {
        on_db!(self, |pool| pool.close().await);
    }

    /// Whether only this process can use the database.
    pub fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }
}

impl Transaction {
    /// Makes everything done in it last.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::MySql(transaction) => transaction.commit().await,
            Self::Sqlite(transaction) => transaction.commit().await,
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
