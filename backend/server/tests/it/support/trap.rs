//! Holds a program fast inside a write of its own, so that it can be killed there: a trigger on the table written to
//! does not return. The program itself knows nothing of it.

use std::{str::FromStr, time::Duration};

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySqlPool, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{Engine, Pool, eventually};

/// A write that lasts so long is taken to be held fast. Should a slow machine take another write for it, the program is
/// killed there, a little earlier.
const HELD: Duration = Duration::from_millis(300);

/// Which write: an `INSERT` or `UPDATE` of a table, on rows of which `condition` is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) write: &'static str,
    pub(crate) condition: &'static str,
}

impl Trap {
    /// Lays the trap in the engine's database, whose tables are made when missing.
    pub(crate) async fn lay(self, engine: &Engine) {
        let Self { write, condition } = self;
        match engine.pool().await {
            Pool::MySql(pool) => {
                let sql = format!(
                    "CREATE TRIGGER trap AFTER {write} FOR EACH ROW SET @trap = IF({condition}, SLEEP(600), 0)"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.expect("the trap is laid");
            }
            Pool::Sqlite(pool) => {
                let sql = format!(
                    "CREATE VIEW IF NOT EXISTS endless AS \
                         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n; \
                     CREATE TRIGGER trap AFTER {write} WHEN {condition} BEGIN SELECT COUNT(*) FROM endless; END"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.expect("the trap is laid");
            }
        }
    }

    /// Waits until the program is held fast.
    pub(crate) async fn sprung(self, engine: &Engine) {
        match engine.pool().await {
            Pool::MySql(pool) => {
                eventually("the trap springs", async || held(&pool).await.is_ok_and(|held| !held.is_empty())).await;
            }
            Pool::Sqlite(_) => {
                let options = SqliteConnectOptions::from_str(&engine.url).expect("its address");
                let mut other = options.busy_timeout(HELD).connect().await.expect("another connection");
                eventually("the trap springs", async || is_locked(&mut other).await).await;
            }
        }
    }

    /// Takes the trap away from a database whose program is dead.
    pub(crate) async fn clear(self, engine: &Engine) {
        let pool = engine.pool().await;
        // A MySQL server may not notice at once that whoever waits there is dead.
        if let Pool::MySql(pool) = &pool {
            eventually("the dead program's writes are undone", async || {
                let Ok(held) = held(pool).await else { return false };
                for id in &held {
                    // It may have ended since it was listed.
                    let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(pool).await;
                }
                held.is_empty()
            })
            .await;
        }
        // MySQL does not take this as a prepared statement.
        let gone = match &pool {
            Pool::MySql(pool) => sqlx::raw_sql("DROP TRIGGER trap").execute(pool).await.is_ok(),
            Pool::Sqlite(pool) => sqlx::raw_sql("DROP TRIGGER trap").execute(pool).await.is_ok(),
        };
        assert!(gone, "the trap is taken away");
    }
}

/// The connections that a MySQL server holds fast in this database. It cannot list them at a moment when the statement of
/// any of its connections, another test's too, is no text; the next time it can.
async fn held(pool: &MySqlPool) -> sqlx::Result<Vec<i64>> {
    const HELD: &str = "SELECT CAST(ID AS SIGNED) FROM information_schema.PROCESSLIST \
                        WHERE DB = DATABASE() AND STATE = 'User sleep'";
    sqlx::query_scalar(HELD).fetch_all(pool).await
}

async fn is_locked(other: &mut SqliteConnection) -> bool {
    match other.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => {
            transaction.rollback().await.expect("nothing was written");
            false
        }
        Err(_) => true,
    }
}
