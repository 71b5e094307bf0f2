//! A database that can be read and not written to.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook::db::Database;
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, TestApp, eventually};

async fn assert_refused_as_full(answer: Response) {
    assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/storage-full");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("full") && !detail.contains("out of reach"), "{detail}");
}

/// The server is not ready for as long as nothing can be stored, and says what is the matter.
async fn assert_not_ready(app: &TestApp) {
    eventually("it is not ready", async || !app.get("/readyz").await.status().is_success()).await;
    assert_refused_as_full(app.get("/readyz").await).await;
    assert_refused_as_full(app.post("/api/conversations", json!({})).await).await;
    app.get_json("/api/conversations").await;
    assert_eq!(app.get("/healthz").await.status(), StatusCode::OK);
}

async fn assert_ready(app: &TestApp) {
    eventually("it is ready", async || app.get("/readyz").await.status().is_success()).await;
    app.create_conversation().await;
}

/// The real program under a limit on the size of files, which a full disk is like.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_makes_the_server_not_ready() {
    use crate::support::Program;

    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    // Without this the program would be killed for the attempt to write.
    let app = TestApp::launch_command(&engine, &mut Program::command_after("trap '' XFSZ", &engine, &model));
    assert_ready(&app).await;
    app.process().limit_files("0");
    assert_not_ready(&app).await;
    app.process().limit_files("unlimited");
    assert_ready(&app).await;
}

/// Triggers that fail as a full table does: a disk of the server's own cannot be filled here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_is_told_and_makes_ours_not_ready() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        assert_ready(&app).await;
        let Database::MySql(pool) = engine.database().await else { unreachable!("the engine is MySQL") };
        let run = async |sql: String| sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
        for write in ["UPDATE ON write_check", "INSERT ON conversations"] {
            let table = write.rsplit(' ').next().unwrap();
            run(format!(
                "CREATE TRIGGER full_{table} BEFORE {write} FOR EACH ROW \
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'"
            ))
            .await;
        }
        assert_not_ready(&app).await;
        run("DROP TRIGGER full_write_check; DROP TRIGGER full_conversations".to_owned()).await;
        assert_ready(&app).await;
    }
}

/// A server that was switched to read only, as a replica is, refuses the check whether or not a write is due.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_makes_the_server_not_ready() {
    for engine in Engine::every_mysql().await {
        let Database::MySql(pool) = engine.database().await else { unreachable!("the engine is MySQL") };
        let set = |on: u8| {
            sqlx::raw_sql(AssertSqlSafe(format!(
                "ALTER DATABASE {} READ ONLY = {on}",
                engine.url.rsplit('/').next().unwrap()
            )))
        };
        // MariaDB knows no read-only databases.
        let version: String = sqlx::query_scalar("SELECT VERSION()").fetch_one(&pool).await.unwrap();
        if version.contains("MariaDB") {
            continue;
        }
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        assert_ready(&app).await;
        set(1).execute(&pool).await.unwrap();
        assert_not_ready(&app).await;
        set(0).execute(&pool).await.unwrap();
        assert_ready(&app).await;
    }
}
