//! Databases on a MySQL server that one test after the other uses: to make all tables takes longer than most tests do, and
//! to empty them next to nothing. Each run of the tests makes those it needs anew, and leaves a few behind for the next one.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex},
};

use sqlx::MySqlConnection;
use tallybook_database::Database;

use super::server::{connect, run, url};

/// Far more than tests run at once.
const MAX_DATABASES: u32 = 256;

/// Rows that the migrations themselves make.
const FIRST_ROWS: &str = "INSERT INTO users (id, name, role, created_at) VALUES (1, 'local', 'admin', UTC_TIMESTAMP(6)); \
    INSERT INTO write_check (id, period) VALUES (1, 0);";

/// What a database consists of, so that a test that changed its tables, or what is noted of migrations, is noticed.
const SHAPE: &str = "SELECT CAST(CONCAT_WS(' ', \
    (SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, COLUMN_TYPE)))) \
     FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()), \
    (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()), \
    (SELECT CONCAT(COUNT(*), ' ', SUM(success), ' ', SUM(CRC32(checksum))) FROM _sqlx_migrations)) AS CHAR)";

/// Each table, and the key that its next row gets; MySQL would tell what that was a day ago. Tests may count on keys from 1.
const TABLES: &str = "SELECT CAST(TABLE_NAME AS CHAR), CAST(COALESCE(AUTO_INCREMENT, 1) AS SIGNED) FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME <> '_sqlx_migrations'";

const TELL_NEWEST_KEYS: &str = "/*!80000 SET SESSION information_schema_stats_expiry = 0 */";

/// Whether anybody but the connection that asks works with the database.
const USED: &str =
    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()";

/// What the databases that were made since the tests began consisted of, by their addresses.
static MADE: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// The name of a database whose tables are there and as good as new. It is the test's until its runtime ends; servers of its
/// own may be connected for a moment longer, and as long as one is, nobody gets the database.
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

/// Other runs of the tests use the same ones.
async fn lock(connection: &mut MySqlConnection, name: &str) -> bool {
    let locked = sqlx::query_scalar::<_, Option<i64>>("SELECT GET_LOCK(?, 0)").bind(name).fetch_one(connection).await;
    locked.expect("the server has locks") == Some(1)
}

/// Empties it, or makes it anew. Not where what the last test had running has not ended yet.
async fn make_ready(connection: &mut MySqlConnection, server: &str, name: &str) -> bool {
    let url = url(server, name);
    let made = MADE.lock().expect("nobody panics with it").get(&url).cloned();
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
    let shape = shape_of(connection).await.expect("its tables are there");
    MADE.lock().expect("nobody panics with it").insert(url, shape);
    // Rows that a migration makes and `FIRST_ROWS` does not know are then missed by every test, and not by some.
    empty(connection).await;
    true
}

async fn is_used(connection: &mut MySqlConnection) -> bool {
    // MySQL cannot list them at a moment when the statement of any connection is no text.
    !sqlx::query_scalar::<_, i64>(USED).fetch_one(connection).await.is_ok_and(|others| others == 0)
}

async fn shape_of(connection: &mut MySqlConnection) -> sqlx::Result<String> {
    sqlx::query_scalar(SHAPE).fetch_one(connection).await
}

async fn empty(connection: &mut MySqlConnection) {
    run(connection, TELL_NEWEST_KEYS.to_owned()).await;
    let tables: Vec<(String, i64)> = sqlx::query_as(TABLES).fetch_all(&mut *connection).await.expect("they are there");
    let mut statements = vec!["SET FOREIGN_KEY_CHECKS = 0".to_owned(), "START TRANSACTION".to_owned()];
    statements.extend(tables.iter().map(|(table, _)| format!("DELETE FROM {table}")));
    statements.push("COMMIT".to_owned());
    let used = tables.iter().filter(|(_, next_key)| *next_key > 1);
    statements.extend(used.map(|(table, _)| format!("ALTER TABLE {table} AUTO_INCREMENT = 1")));
    statements.push(FIRST_ROWS.to_owned());
    run(connection, statements.join("; ")).await;
}
