//! A database that can be read but not written.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, TestApp, eventually};

async fn assert_refused_as_full(answer: Response) {
    assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/storage-full");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("full") && !detail.contains("unreachable"), "{detail}");
}

/// Checks that the server is not ready while nothing can be stored, that it says why, and that it still reads.
async fn assert_not_ready(app: &TestApp) {
    eventually("the server is not ready", async || !app.get("/readyz").await.status().is_success()).await;
    assert_refused_as_full(app.get("/readyz").await).await;
    assert_refused_as_full(app.post("/api/conversations", json!({})).await).await;
    app.get_json("/api/conversations").await;
    assert_eq!(app.get("/healthz").await.status(), StatusCode::OK);
}

async fn assert_ready(app: &TestApp) {
    eventually("the server is ready", async || app.get("/readyz").await.status().is_success()).await;
    app.create_conversation().await;
}

/// Runs the real program with a limit on the size of files, which has the effect of a full disk.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_reported_and_makes_the_server_not_ready() {
    use crate::support::Program;

    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    // Without this trap, the kernel would kill the program for the attempt to write.
    let app = TestApp::launch_command(&engine, &mut Program::command_after("trap '' XFSZ", &engine, &model));
    assert_ready(&app).await;
    app.process().limit_files("0");
    assert_not_ready(&app).await;
    app.process().limit_files("unlimited");
    assert_ready(&app).await;
}

/// Triggers fail as a full table does, because a test cannot fill the disk of the database server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_database_server_is_reported_and_makes_the_server_not_ready() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        assert_ready(&app).await;
        for write in ["UPDATE ON write_check", "INSERT ON conversations"] {
            let table = write.rsplit(' ').next().unwrap();
            engine
                .run(format!(
                    "CREATE TRIGGER full_{table} BEFORE {write} FOR EACH ROW \
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'"
                ))
                .await;
        }
        assert_not_ready(&app).await;
        engine.run("DROP TRIGGER full_write_check; DROP TRIGGER full_conversations".to_owned()).await;
        assert_ready(&app).await;
    }
}

/// The readiness check fails for a user without the right to write and for a read-only database, whether or not a write
/// is due.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_database_makes_the_server_not_ready() {
    for engine in Engine::every_mysql().await {
        let database = engine.name();
        let pool = engine.pool().await.mysql();
        let version: String = sqlx::query_scalar("SELECT VERSION()").fetch_one(&pool).await.unwrap();
        let user = engine.create_user("s3cret").await;
        // A connection notices changed rights to a whole database only when it is opened, but changed rights to a table
        // at once.
        let of_each_table = |change: &str, whose: &str| {
            ["write_check", "conversations"]
                .map(|table| format!("{change} INSERT, UPDATE ON {database}.{table} {whose} {user}"))
                .join("; ")
        };
        let (may_write, may_not) = (of_each_table("GRANT", "TO"), of_each_table("REVOKE", "FROM"));
        engine.run(format!("GRANT SELECT, CREATE ON {database}.* TO {user}; {may_write}")).await;

        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine.as_user(&user, "s3cret"), &model).await;
        let mut ways = vec![(may_not, may_write)];
        // MariaDB does not support read-only databases.
        if !version.contains("MariaDB") {
            let read_only = |on: u8| format!("ALTER DATABASE {database} READ ONLY = {on}");
            ways.push((read_only(1), read_only(0)));
        }
        for (forbid, allow) in ways {
            assert_ready(&app).await;
            engine.run(forbid).await;
            assert_not_ready(&app).await;
            engine.run(allow).await;
            assert_ready(&app).await;
        }
    }
}
