//! Databases on a MySQL server that tests use one after the other. Creating all tables takes longer than most tests,
//! and emptying them takes almost no time. Each run of the tests rebuilds the databases that it needs, and leaves a few
//! of them for the next run.

use std::{collections::HashMap, sync::LazyLock};

use parking_lot::Mutex;
use sqlx::MySqlConnection;
use tallybook_database::Database;

use super::server::{connect, run, url};

/// Maximum number of databases, far more than the number of concurrent tests.
const MAX_DATABASES: u32 = 256;

/// Distance between the first keys of two tables. Keys differ between tables, as in a used database, so that a test
/// fails if the key of one table is taken for that of another, or if it relies on keys from 1.
const KEY_DISTANCE: usize = 100_000;

/// Statements that create the rows that the migrations create.
const FIRST_ROWS: &str = "INSERT INTO users (id, name, role, created_at) VALUES (1, 'local', 'admin', UTC_TIMESTAMP(6)); \
    INSERT INTO write_check (id, period) VALUES (1, 0);";

/// Query for the shape of a database: its columns, triggers and migrations. It reveals that a test has changed them.
const SHAPE: &str = "SELECT CAST(CONCAT_WS(' ', \
    (SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE)))) \
     FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()), \
    (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()), \
    (SELECT CONCAT(COUNT(*), ' ', SUM(success), ' ', SUM(CRC32(checksum))) FROM _sqlx_migrations)) AS CHAR)";

/// Query for the tables that a test may have filled.
const TABLES: &str = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME <> '_sqlx_migrations'";

/// Query for the tables that generate keys.
const KEYED_TABLES: &str = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.COLUMNS \
    WHERE TABLE_SCHEMA = DATABASE() AND EXTRA LIKE '%auto_increment%' ORDER BY TABLE_NAME";

/// Query for the number of other connections that use the database.
const USED: &str =
    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()";

/// Shapes of the databases that this run of the tests has built, by URL.
static MADE: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// Returns the name of a database that has tables and is as good as new. It belongs to the test until the test's
/// runtime ends. The test's servers may stay connected a moment longer, and until they disconnect, no other test gets
/// the database.
pub(crate) async fn take(server: &str) -> String {
    let mut connection = connect(server).await;
    for number in 0..MAX_DATABASES {
        let name = format!("tallybook_test_{number}");
        if !lock(&mut connection, &name).await {
            continue;
        }
        if make_ready(&mut connection, server, &name).await {
            tokio::spawn(async move {
                let _held = connection;
                std::future::pending::<()>().await;
            });
            return name;
        }
        run(&mut connection, format!("DO RELEASE_LOCK('{name}')")).await;
    }
    panic!("{MAX_DATABASES} test databases are in use");
}

/// Locks a database, since other runs of the tests use the same ones. Returns `false` if it is already locked.
async fn lock(connection: &mut MySqlConnection, name: &str) -> bool {
    let locked = sqlx::query_scalar::<_, Option<i64>>("SELECT GET_LOCK(?, 0)").bind(name).fetch_one(connection).await;
    locked.expect("the server has locks") == Some(1)
}

/// Empties a database, or rebuilds it. Returns `false` if something of the previous test is still connected.
async fn make_ready(connection: &mut MySqlConnection, server: &str, name: &str) -> bool {
    let url = url(server, name);
    let made = MADE.lock().get(&url).cloned();
    if let Some(shape) = made {
        run(connection, format!("USE {name}")).await;
        if is_used(connection).await {
            return false;
        }
        if shape_of(connection).await.is_ok_and(|found| found == shape) {
            empty(connection).await;
            return true;
        }
    }
    run(connection, format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}")).await;
    Database::connect(&url.parse().expect("its address")).await.expect("the database opens").close().await;
    spread_keys(connection).await;
    let shape = shape_of(connection).await.expect("its tables are there");
    MADE.lock().insert(url, shape);
    // Empties the new database, too. If a migration creates rows that `FIRST_ROWS` lacks, all tests then miss these
    // rows, instead of only some.
    empty(connection).await;
    true
}

async fn is_used(connection: &mut MySqlConnection) -> bool {
    // MySQL cannot list the connections while the statement of any of them is not valid text. The database then counts
    // as used.
    !sqlx::query_scalar::<_, i64>(USED).fetch_one(connection).await.is_ok_and(|others| others == 0)
}

async fn shape_of(connection: &mut MySqlConnection) -> sqlx::Result<String> {
    sqlx::query_scalar(SHAPE).fetch_one(connection).await
}

/// Sets the next key of each table that generates keys.
async fn spread_keys(connection: &mut MySqlConnection) {
    let tables: Vec<String> =
        sqlx::query_scalar(KEYED_TABLES).fetch_all(&mut *connection).await.expect("they are there");
    let alter =
        |(number, table): (usize, &String)| format!("ALTER TABLE {table} AUTO_INCREMENT = {}", number * KEY_DISTANCE);
    let statements: Vec<String> = (1..).zip(&tables).map(alter).collect();
    run(connection, statements.join("; ")).await;
}

/// Deletes all rows. Keys continue from those of earlier tests.
async fn empty(connection: &mut MySqlConnection) {
    let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut *connection).await.expect("they are there");
    let mut statements = vec!["SET FOREIGN_KEY_CHECKS = 0".to_owned(), "START TRANSACTION".to_owned()];
    statements.extend(tables.iter().map(|table| format!("DELETE FROM {table}")));
    statements.push("COMMIT".to_owned());
    statements.push(FIRST_ROWS.to_owned());
    run(connection, statements.join("; ")).await;
}
