//! Runs migrations, in one process at a time, and reruns a migration that a killed process left unfinished.
//! CONTRIBUTING.md states how to write migrations so that they can be rerun.

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, Executor, MySqlConnection, SqliteConnection,
    migrate::{MigrateError, Migrator},
};

use crate::{
    cluster,
    database::Database,
    error::DbError,
    schema::{LIST_APPLIED, MIGRATIONS_TABLE, Schema, is_bookkeeping},
    time::{with_default_timeout, with_timeout},
};

/// Maximum wait for another process that runs migrations. Creating an index of a large table takes minutes.
const MIGRATION_TIMEOUT: Duration = Duration::from_mins(5);

/// Tables and views that the first migration creates, in an order in which they can be dropped: each table comes after
/// all that refer to it.
const MADE_BY_FIRST: [&str; 8] =
    ["tool_history", "journal_events", "model_calls", "tool_calls", "messages", "conversations", "sessions", "users"];

fn mysql_migrations() -> Migrator {
    let mut migrator = sqlx::migrate!("../../migrations/mysql");
    // `take_lock` replaces the driver's lock, for which the driver waits forever on MySQL and not at all on MariaDB.
    migrator.set_locking(false);
    migrator
}

fn sqlite_migrations() -> Migrator {
    sqlx::migrate!("../../migrations/sqlite")
}

/// Prepares a MySQL database for its migrations: cleans up after a killed process, and excludes other processes until
/// the connection is closed. Fails if the database belongs to another program or a later version.
///
/// Returns the lease that excludes processes on other nodes, if the server is a cluster node and migrations are due.
pub(crate) async fn prepare_mysql(
    connection: &mut MySqlConnection,
    is_galera: bool,
) -> Result<Option<cluster::MigrationLease>, DbError> {
    take_lock(connection).await?;
    let migrator = mysql_migrations();
    let schema = read_mysql(connection).await?;
    // Comes before anything that creates a table: the database may belong to another program.
    schema.check(&migrator)?;
    if !is_galera || schema.is_current(&migrator) {
        return clean_up(connection).await.map(|()| None);
    }
    let lease = cluster::MigrationLease::take(connection, MIGRATION_TIMEOUT).await?;
    match clean_up(connection).await {
        Ok(()) => Ok(Some(lease)),
        Err(error) => {
            lease.release(connection).await;
            Err(error)
        }
    }
}

/// Removes the remains of a migration that a killed process left unfinished.
async fn clean_up(connection: &mut MySqlConnection) -> Result<(), DbError> {
    let migrator = mysql_migrations();
    let schema = read_mysql(connection).await?;
    schema.check(&migrator)?;
    if let Some(version) = schema.unfinished() {
        tracing::warn!(version, "an earlier start was interrupted during a migration; running the migration again");
        if migrator.iter().next().is_some_and(|first| first.version == version) {
            drop_unfinished_first(connection, &schema).await?;
        }
        let forget = sqlx::query("DELETE FROM _sqlx_migrations WHERE version = ?").bind(version);
        with_default_timeout(forget.execute(&mut *connection)).await?;
    }
    Ok(())
}

/// Runs the migrations. On an embedded database, each is one transaction. Call `prepare_mysql` first for a MySQL
/// database.
pub(crate) async fn run(db: &Database) -> Result<(), DbError> {
    if let Some(pool) = db.mysql_pool() {
        mysql_migrations().run(pool).await.map_err(cause)?;
    }
    if let Some(writer) = db.sqlite_writer() {
        sqlite_migrations().run(writer).await.map_err(cause)?;
    }
    Ok(())
}

/// Fails if an embedded database belongs to another program or a later version. Returns `false` if it has no tables.
pub(crate) async fn check_sqlite(connection: &mut SqliteConnection) -> Result<bool, DbError> {
    let names =
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let tables: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut *connection).await?;
    let has_tables = !tables.is_empty();
    let applied =
        if has_marks(&tables) { sqlx::query_as(LIST_APPLIED).fetch_all(connection).await? } else { Vec::new() };
    Schema { tables, applied }.check(&sqlite_migrations()).map(|()| has_tables)
}

fn has_marks(tables: &[String]) -> bool {
    tables.iter().any(|table| table == MIGRATIONS_TABLE)
}

async fn take_lock(connection: &mut MySqlConnection) -> Result<(), DbError> {
    let lock = "SELECT GET_LOCK(CONCAT('tallybook.', LEFT(SHA2(DATABASE(), 256), 40)), ?)";
    let seconds = MIGRATION_TIMEOUT.as_secs();
    let taken = sqlx::query_scalar::<_, Option<i64>>(lock).bind(seconds).fetch_one(connection);
    // The server ends the wait after `MIGRATION_TIMEOUT`. The longer timeout here is for a server that does not respond
    // at all.
    match with_timeout(MIGRATION_TIMEOUT * 2, taken).await? {
        Some(1) => Ok(()),
        _ => Err(DbError::Migrating(seconds)),
    }
}

async fn read_mysql(connection: &mut MySqlConnection) -> sqlx::Result<Schema> {
    let names = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    let tables = with_default_timeout(sqlx::query_scalar(names).fetch_all(&mut *connection)).await?;
    let applied = if has_marks(&tables) {
        with_default_timeout(sqlx::query_as(LIST_APPLIED).fetch_all(connection)).await?
    } else {
        Vec::new()
    };
    Ok(Schema { tables, applied })
}

/// Drops the tables of an unfinished first migration, which MySQL does not roll back. They cannot contain data yet.
async fn drop_unfinished_first(connection: &mut MySqlConnection, schema: &Schema) -> Result<(), DbError> {
    let is_ours = |table: &str| is_bookkeeping(table) || MADE_BY_FIRST.contains(&table);
    if let Some(other) = schema.tables.iter().find(|table| !is_ours(table)) {
        return Err(DbError::Unfinished(format!("the table {other}")));
    }
    if schema.tables.iter().any(|table| table == "conversations") {
        let used = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM conversations").fetch_one(&mut *connection);
        if with_default_timeout(used).await? > 0 {
            return Err(DbError::Unfinished("conversations".to_owned()));
        }
    }
    for name in MADE_BY_FIRST {
        let kind = if name == "tool_history" { "VIEW" } else { "TABLE" };
        connection.execute(AssertSqlSafe(format!("DROP {kind} IF EXISTS {name}"))).await?;
    }
    Ok(())
}

fn cause(error: MigrateError) -> DbError {
    match error {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => DbError::Migrate { source },
        other => DbError::Migrate { source: sqlx::Error::Migrate(Box::new(other)) },
    }
}
