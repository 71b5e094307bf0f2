//! Blocks the program inside one of its own writes, so that a test can kill it there: a trigger on the written table
//! does not return. The program itself contains nothing for this.

use std::{str::FromStr, time::Duration};

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySqlPool, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{Engine, Pool, eventually};

/// Duration after which a write counts as blocked. If a slow machine makes another write take this long, the program is
/// killed in that write, a little earlier.
const HELD: Duration = Duration::from_millis(300);

/// The write that is blocked: an `INSERT` or `UPDATE` of a table, for rows that match `condition`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) write: &'static str,
    pub(crate) condition: &'static str,
}

impl Trap {
    /// Creates the trigger in the engine's database. Creates the tables if they are missing.
    pub(crate) async fn lay(self, engine: &Engine) {
        let Self { write, condition } = self;
        match engine.pool().await {
            Pool::MySql(pool) => {
                let sql = format!(
                    "CREATE TRIGGER trap AFTER {write} FOR EACH ROW SET @trap = IF({condition}, SLEEP(600), 0)"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.expect("the trigger is created");
            }
            Pool::Sqlite(pool) => {
                let sql = format!(
                    "CREATE VIEW IF NOT EXISTS endless AS \
                         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n; \
                     CREATE TRIGGER trap AFTER {write} WHEN {condition} BEGIN SELECT COUNT(*) FROM endless; END"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.expect("the trigger is created");
            }
        }
    }

    /// Waits until the program is blocked.
    pub(crate) async fn sprung(self, engine: &Engine) {
        match engine.pool().await {
            Pool::MySql(pool) => {
                eventually("the program is blocked", async || held(&pool).await.is_ok_and(|held| !held.is_empty()))
                    .await;
            }
            Pool::Sqlite(_) => {
                let options = SqliteConnectOptions::from_str(&engine.url).expect("its address");
                let mut other = options.busy_timeout(HELD).connect().await.expect("another connection");
                eventually("the program is blocked", async || is_locked(&mut other).await).await;
            }
        }
    }

    /// Removes the trigger from a database whose program was killed.
    pub(crate) async fn clear(self, engine: &Engine) {
        let pool = engine.pool().await;
        // A MySQL server may not notice at once that the waiting client is dead.
        if let Pool::MySql(pool) = &pool {
            eventually("the dead program's writes are rolled back", async || {
                let Ok(held) = held(pool).await else { return false };
                for id in &held {
                    // The connection may have ended since it was listed.
                    let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(pool).await;
                }
                held.is_empty()
            })
            .await;
        }
        // MySQL does not accept this as a prepared statement.
        let gone = match &pool {
            Pool::MySql(pool) => sqlx::raw_sql("DROP TRIGGER trap").execute(pool).await.is_ok(),
            Pool::Sqlite(pool) => sqlx::raw_sql("DROP TRIGGER trap").execute(pool).await.is_ok(),
        };
        assert!(gone, "the trigger is removed");
    }
}

/// Lists the connections that are blocked in this database. MySQL fails to list them while the statement of any
/// connection, even of another test, is not valid text; a later attempt succeeds.
async fn held(pool: &MySqlPool) -> sqlx::Result<Vec<i64>> {
    const HELD: &str = "SELECT CAST(ID AS SIGNED) FROM information_schema.PROCESSLIST \
                        WHERE DB = DATABASE() AND STATE = 'User sleep'";
    sqlx::query_scalar(HELD).fetch_all(pool).await
}

async fn is_locked(other: &mut SqliteConnection) -> bool {
    match other.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => {
            transaction.rollback().await.expect("the test's own write is rolled back");
            false
        }
        Err(_) => true,
    }
}
