//! Starts of the program after an earlier start was killed while it created the tables. MySQL keeps each completed
//! statement of a migration, so the next start must be able to repeat the migration after any of them.

use std::{str::FromStr, time::Duration};

use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySqlConnection, MySqlPool, mysql::MySqlConnectOptions};
use tallybook_database::MigrationLease;
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, Program, TestApp, eventually};

const MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/mysql");

const MARKS: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, \
    execution_time BIGINT NOT NULL)";

const MARK: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
    VALUES (?, '', ?, ?, -1)";

async fn connect(engine: &Engine) -> MySqlConnection {
    MySqlConnectOptions::from_str(&engine.url).unwrap().connect().await.unwrap()
}

async fn run(connection: &mut MySqlConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

/// Returns the statements of a migration. Each one ends its line.
fn statements(sql: &str) -> Vec<&str> {
    sql.split_inclusive(";\n").filter(|statement| statement.contains(';')).collect()
}

/// Returns every table with its columns, and the number of users.
async fn shape(connection: &mut MySqlConnection) -> (Vec<(String, String, String)>, i64) {
    let columns = "SELECT CAST(TABLE_NAME AS CHAR), CAST(COLUMN_NAME AS CHAR), CAST(COLUMN_TYPE AS CHAR) \
                   FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1, 2";
    let columns = sqlx::query_as(columns).fetch_all(&mut *connection).await.unwrap();
    (columns, sqlx::query_scalar("SELECT COUNT(*) FROM users").fetch_one(connection).await.unwrap())
}

/// Interrupts each migration after each of its statements, as if the program had been killed there. The next start
/// removes what the first migration left, so each interruption of that migration has its own database. Each other
/// migration is started repeatedly in one database, one statement further each time, and then completed by the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_migration_can_be_restarted() {
    let all: Vec<_> = MIGRATIONS.iter().collect();
    let mut expected = Vec::new();
    for undisturbed in Engine::every_mysql().await {
        undisturbed.database().await.close().await;
        expected.push(shape(&mut connect(&undisturbed).await).await);
    }
    for (place, migration) in all.iter().enumerate() {
        let statements = statements(migration.sql.as_str());
        let last = statements.len();
        let ways: Vec<Vec<usize>> =
            if place == 0 { (0..=last).map(|done| vec![done]).collect() } else { vec![(0..=last).collect()] };
        for way in ways {
            let engines = Engine::every_mysql().await;
            let begun = engines.iter().zip(&expected).map(async |(engine, expected)| {
                let mut connection = connect(engine).await;
                run(&mut connection, MARKS).await;
                for before in &all[..place] {
                    run(&mut connection, before.sql.as_str()).await;
                    mark(&mut connection, before, true).await;
                }
                mark(&mut connection, migration, false).await;
                for done in &way {
                    for statement in &statements[..*done] {
                        run(&mut connection, statement).await;
                    }
                }
                engine.database().await.close().await;
                let found = shape(&mut connection).await;
                assert_eq!(&found, expected, "after {way:?} statements of {}", migration.version);
            });
            join_all(begun).await;
        }
    }
}

async fn mark(connection: &mut MySqlConnection, migration: &sqlx::migrate::Migration, success: bool) {
    let mark = sqlx::query(MARK).bind(migration.version).bind(success).bind(&*migration.checksum);
    mark.execute(connection).await.unwrap();
}

/// The real program is killed with SIGKILL after it has created all tables of the first migration, but before it has
/// recorded that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_killed_in_its_first_migration_can_start_again() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let mut connection = connect(&engine).await;
        run(&mut connection, MARKS).await;
        run(
            &mut connection,
            "CREATE TRIGGER trap BEFORE UPDATE ON _sqlx_migrations FOR EACH ROW SET @trap = SLEEP(600)",
        )
        .await;
        let mut doomed = Program::command(&engine, &model).spawn().unwrap();
        let pool = MySqlPool::connect(&engine.url).await.unwrap();
        eventually("the program is blocked", async || held(&pool).await.is_ok_and(|held| !held.is_empty())).await;
        doomed.kill().unwrap();
        doomed.wait().unwrap();
        // The database server may not notice at once that the waiting client is dead.
        eventually("the dead program's connections are gone", async || {
            for id in held(&pool).await.unwrap_or_default() {
                // The connection may have ended since it was listed.
                let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(&pool).await;
            }
            held(&pool).await.is_ok_and(|held| held.is_empty())
        })
        .await;
        run(&mut connection, "DROP TRIGGER trap").await;
        let unfinished = "SELECT COUNT(*) FROM _sqlx_migrations WHERE NOT success";
        assert_eq!(
            sqlx::query_scalar::<_, i64>(unfinished).fetch_one(&pool).await.unwrap(),
            1,
            "the migration is recorded as unfinished"
        );
        let app = TestApp::launch(&engine, &model);
        app.create_conversation().await;
        connection.close().await.unwrap();
    }
}

/// Lists the connections that wait in the trap. MySQL fails to list them while the statement of any connection, even of
/// another test, is not valid text; a later attempt succeeds.
async fn held(pool: &MySqlPool) -> sqlx::Result<Vec<i64>> {
    let held = "SELECT CAST(ID AS SIGNED) FROM information_schema.PROCESSLIST \
                WHERE DB = DATABASE() AND STATE = 'User sleep'";
    sqlx::query_scalar(held).fetch_all(pool).await
}

/// The program never removes a table that its first migration cannot have created.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_first_migration_beside_a_foreign_table_is_left_alone() {
    for engine in Engine::every_mysql().await {
        let mut connection = connect(&engine).await;
        run(&mut connection, MARKS).await;
        let first = MIGRATIONS.iter().next().unwrap();
        mark(&mut connection, first, false).await;
        run(&mut connection, "CREATE TABLE users (id INT); CREATE TABLE wp_posts (id INT)").await;
        let model = MockLlm::start().await.unwrap();
        let output = Program::command(&engine, &model).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("wp_posts") && said.contains("empty database"), "{said}");
        run(&mut connection, "SELECT id FROM users; SELECT id FROM wp_posts").await;
    }
}

const AT_ONCE: Duration = Duration::ZERO;

/// If servers start on several nodes of a cluster, only one of them at a time may change the tables.
#[tokio::test]
async fn one_server_at_a_time_holds_the_migration_lease() {
    for engine in Engine::every_mysql().await {
        let (mut one, mut other) = (connect(&engine).await, connect(&engine).await);
        let lease = MigrationLease::take(&mut one, AT_ONCE).await.unwrap();
        assert!(MigrationLease::take(&mut other, AT_ONCE).await.is_err());
        lease.release(&mut one).await;
        let lease = MigrationLease::take(&mut other, AT_ONCE).await.unwrap();
        // As if the holder of the lease had died.
        run(&mut one, "UPDATE _tallybook_migrating SET until = '2000-01-01'").await;
        let next = MigrationLease::take(&mut one, AT_ONCE).await.unwrap();
        lease.release(&mut other).await;
        assert!(
            MigrationLease::take(&mut other, AT_ONCE).await.is_err(),
            "a server cannot release another server's lease"
        );
        next.release(&mut one).await;
    }
}

/// In a cluster, a statement that creates a table blocks every write, and makes the writes fail that conflict with it.
#[tokio::test]
async fn waiting_for_the_lease_creates_no_table_and_releasing_it_is_retried() {
    for engine in Engine::every_mysql().await {
        let (mut one, mut other) = (connect(&engine).await, connect(&engine).await);
        let lease = MigrationLease::take(&mut one, AT_ONCE).await.unwrap();
        assert!(MigrationLease::take(&mut other, AT_ONCE).await.is_err());
        let made = sqlx::query_as("SHOW SESSION STATUS LIKE 'Com_create_table'").fetch_one(&mut other).await;
        let (_, made): (String, String) = made.unwrap();
        assert_eq!(made, "0");
        let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON _tallybook_migrating FOR EACH ROW BEGIN \
            IF @refused IS NULL THEN SET @refused = 1; SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF; END";
        run(&mut other, refuse).await;
        lease.release(&mut one).await;
        let refused = sqlx::query_scalar("SELECT @refused").fetch_one(&mut one).await;
        assert_eq!(refused.ok(), Some(1_i64), "the first attempt was refused");
        run(&mut other, "DROP TRIGGER refuse").await;
        assert!(MigrationLease::take(&mut other, AT_ONCE).await.is_ok());
    }
}
