//! Opens a database: connects, and runs migrations.

use std::{path::Path, time::Duration};

use sqlx::{
    ConnectOptions, Connection, Executor, MySqlConnection,
    mysql::{MySqlConnectOptions, MySqlPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::time::{Instant, sleep};

use crate::{
    cluster,
    database::Database,
    error::DbError,
    failure::{FailureKind, classify, mysql_number},
    lock::unusable,
    migrations,
    private_files::{create_folder_of, make_private},
    time::{LOCK_TIMEOUT, RETRY_INTERVAL, WRITER_QUEUE_TIMEOUT, with_default_timeout, with_timeout},
    url::DatabaseUrl,
};

/// Maximum number of connections to a MySQL server. A statement uses one for milliseconds. Servers accept about 150 by
/// default, which several replicas share.
const MYSQL_CONNECTIONS: u32 = 16;

/// Maximum number of these connections that write at once. The others remain for readers.
const MYSQL_WRITERS: usize = 12;

/// Maximum number of connections that read an SQLite file, in addition to the one that writes.
const SQLITE_READERS: u32 = 4;

/// Limits the wait for a lock to [`LOCK_TIMEOUT`]; the server's default is fifty seconds.
const MYSQL_SESSION: &str = "SET SESSION innodb_lock_wait_timeout = 5";

/// Makes a cluster node apply all earlier commits of other nodes before it runs a statement. So a replica can read
/// through any node what another replica has written through another node.
const GALERA_SESSION: &str = "SET SESSION innodb_lock_wait_timeout = 5, wsrep_sync_wait = 7";

impl Database {
    /// Opens the database and runs migrations. A missing SQLite file and its folder are created.
    pub async fn connect(url: &DatabaseUrl) -> Result<Self, DbError> {
        match url {
            DatabaseUrl::MySql(options) => Box::pin(connect_mysql(url, options)).await,
            DatabaseUrl::Sqlite(options) => Box::pin(connect_sqlite(url, options)).await,
        }
    }
}

async fn connect_mysql(url: &DatabaseUrl, options: &MySqlConnectOptions) -> Result<Database, DbError> {
    let refused = |error| mysql_refusal(url, options, error);
    let mut lock_holder = first_connection(options).await.map_err(refused)?;
    let opened = async {
        let is_galera = cluster::is_node(&mut lock_holder).await?;
        if is_galera {
            with_default_timeout(lock_holder.execute(GALERA_SESSION)).await?;
        }
        let lease = migrations::prepare_mysql(&mut lock_holder, is_galera).await?;
        let pool = mysql_pool(is_galera).connect_with(options.clone()).await.map_err(refused)?;
        let db = Database::of_mysql(pool, MYSQL_WRITERS);
        let done = match &lease {
            Some(lease) => lease.hold_while(&mut lock_holder, migrations::run(&db)).await,
            None => migrations::run(&db).await,
        };
        if let Some(lease) = lease {
            lease.release(&mut lock_holder).await;
        }
        done.map(|()| db)
    };
    let opened = opened.await.map_err(|error| match error {
        DbError::Migrate { source } if is_about_rights(&source) => refused(source),
        error => error,
    });
    // Closing the connection also releases the migration lock, whether the migrations succeeded or not.
    if let Err(error) = with_default_timeout(lock_holder.close()).await {
        tracing::debug!(%error, "the connection with the migration lock was already closed");
    }
    opened
}

fn mysql_pool(is_galera: bool) -> MySqlPoolOptions {
    let session = if is_galera { GALERA_SESSION } else { MYSQL_SESSION };
    MySqlPoolOptions::new()
        .max_connections(MYSQL_CONNECTIONS)
        .acquire_timeout(LOCK_TIMEOUT)
        .after_connect(move |connection, _| Box::pin(async move { connection.execute(session).await.map(|_| ()) }))
        // The check has a timeout: without one, the pool would wait forever for a connection whose statement was
        // abandoned. A connection to a node that has lost its cluster fails the check and is closed, so that the next
        // connection may reach another node.
        .after_release(move |connection, _| {
            Box::pin(async move {
                if is_galera {
                    cluster::check_ready(connection).await?;
                } else {
                    with_default_timeout(connection.ping()).await?;
                }
                // Each connection would keep room for the largest statement that it ever sent.
                connection.shrink_buffers();
                Ok(true)
            })
        })
}

/// Connects to a MySQL server. Retries for up to [`LOCK_TIMEOUT`], since the server may still be starting.
async fn first_connection(options: &MySqlConnectOptions) -> sqlx::Result<MySqlConnection> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match with_timeout(LOCK_TIMEOUT, options.connect()).await {
            Err(error) if classify(&error) == FailureKind::Transient && Instant::now() < deadline => {
                sleep(RETRY_INTERVAL).await;
            }
            outcome => return outcome,
        }
    }
}

fn mysql_refusal(url: &DatabaseUrl, options: &MySqlConnectOptions, error: sqlx::Error) -> DbError {
    let at = url.to_string();
    let user = options.get_username().to_owned();
    let database = options.get_database().unwrap_or_default().to_owned();
    match mysql_number(&error) {
        Some(1045 | 1698) => DbError::AccessDenied { at, user },
        Some(1049) => DbError::UnknownDatabase { at, database },
        Some(_) if is_about_rights(&error) => DbError::NotAllowed { at, user, database },
        _ if classify(&error) == FailureKind::Transient => DbError::Unreachable { at, source: error },
        _ => DbError::Connect { at, source: error },
    }
}

/// Returns `true` if a privilege on a database, table, view or column is missing.
fn is_about_rights(error: &sqlx::Error) -> bool {
    matches!(mysql_number(error), Some(1044 | 1142 | 1143 | 1227))
}

async fn connect_sqlite(url: &DatabaseUrl, options: &SqliteConnectOptions) -> Result<Database, DbError> {
    if let Some(file) = url.file() {
        create_folder_of(file)?;
        check_before_use(file, options).await?;
        make_private(file).map_err(|source| unusable(file, source))?;
    }
    // WAL lets readers work during a write. NORMAL keeps every commit when the process dies; a power cut may undo the
    // last commits, but does not damage the file.
    let options = options
        .clone()
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(LOCK_TIMEOUT);
    let refused = |source| DbError::Connect { at: url.to_string(), source };
    // Overwrites deleted texts with zeros. FAST would keep the content of pages that become free, such as those of long
    // texts.
    let writer_options = options.clone().pragma("secure_delete", "ON");
    let writer = sqlite_pool(1, WRITER_QUEUE_TIMEOUT).connect_with(writer_options).await.map_err(refused)?;
    // Makes a write on a reader's connection fail at once instead of waiting for the write lock.
    let read_only = options.pragma("query_only", "ON");
    let readers = sqlite_pool(SQLITE_READERS, LOCK_TIMEOUT).connect_with(read_only).await.map_err(refused)?;
    let db = Database::of_sqlite(readers, writer);
    migrations::run(&db).await?;
    Ok(db)
}

fn sqlite_pool(connections: u32, queue_timeout: Duration) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(queue_timeout)
        // Connections to a file do not break, and the pool accepts a connection back only when it has finished its
        // work.
        .test_before_acquire(false)
        // After a failed write, for example on a full disk, SQLite may roll back without the pool's knowledge. Such a
        // connection would refuse every later transaction, so it is not used again.
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
}

/// Fails if the file belongs to another program or a later version. Runs before anything in the file, such as its
/// journal mode, is changed. Returns `false` if there is no file, or no table in it.
pub(crate) async fn check_before_use(file: &Path, options: &SqliteConnectOptions) -> Result<bool, DbError> {
    if !tokio::fs::try_exists(file).await.unwrap_or(false) {
        return Ok(false);
    }
    let at = || file.display().to_string();
    let opened = options.connect().await;
    let mut connection = opened.map_err(|source| DbError::Connect { at: at(), source })?;
    let checked = migrations::check_sqlite(&mut connection).await;
    connection.close().await?;
    checked.map_err(|error| match error {
        DbError::Migrate { source } if is_not_a_database(&source) => DbError::NotADatabase { path: at() },
        error => error,
    })
}

/// Returns `true` for `SQLITE_NOTADB`.
fn is_not_a_database(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).is_some_and(|code| code == "26")
}

#[cfg(test)]
mod tests {
    use super::Database;

    #[tokio::test]
    async fn readers_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/tallybook.db", folder.path().display()).parse().unwrap();
        let db = Database::connect(&url).await.unwrap();
        for write in ["DELETE FROM conversations WHERE id = -1", "UPDATE write_check SET period = period"] {
            let refused = sqlx::query(write).execute(db.sqlite_readers().unwrap()).await.unwrap_err();
            assert!(refused.to_string().contains("readonly"), "{refused}");
            db.writer().query(write).execute().await.unwrap();
        }
        db.close().await;
    }
}
