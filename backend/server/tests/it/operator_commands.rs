//! Operators' commands in a terminal: backup, restore, consistency check, and accounts.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::json;
use sqlx::{AssertSqlSafe, SqlitePool, sqlite::SqliteConnectOptions};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::{
    files::{self, uploaded},
    support::{Engine, Program, TestApp, execute, on_every_engine},
};

/// Runs `tallybook admin` on a database, beside any server that uses it.
pub(crate) fn admin(engine: &Engine, model: &MockLlm, args: &[&str]) -> Output {
    Program::command(engine, model).arg("admin").args(args).output().expect("the program runs")
}

pub(crate) fn said(output: &Output) -> (bool, String) {
    let words = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8(words).expect("in UTF-8"))
}

async fn titles(app: &TestApp) -> Vec<String> {
    let list = app.get_json("/api/conversations").await;
    let items = list["items"].as_array().expect("a list").iter();
    items.map(|item| item["title"].as_str().expect("a title").to_owned()).collect()
}

async fn ask(app: &TestApp, model: &MockLlm, question: &str) {
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is 3.")]);
    app.send(&conversation, question).await.all().await;
}

#[tokio::test]
async fn a_backup_of_a_running_server_can_be_restored() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copies/copy.db");
    let copy = copy.to_str().unwrap();
    let app = TestApp::launch(&engine, &model);
    ask(&app, &model, "Before?").await;
    assert!(said(&admin(&engine, &model, &["backup", copy])).0);
    ask(&app, &model, "After?").await;
    let (is_done, words) = said(&admin(&engine, &model, &["backup", copy]));
    assert!(!is_done && words.contains("already exists"), "{words}");
    let (is_done, words) = said(&admin(&engine, &model, &["restore", copy]));
    assert!(!is_done && words.contains("another Tallybook process uses"), "{words}");
    app.kill();

    let nothing = folder.path().join("nothing.db");
    std::fs::write(&nothing, "This file is not a database, but it is so long that its size alone does not show that.")
        .unwrap();
    let (is_done, words) = said(&admin(&engine, &model, &["restore", nothing.to_str().unwrap()]));
    assert!(!is_done && words.contains("it is not an SQLite database"), "{words}");
    let app = TestApp::launch(&engine, &model);
    assert_eq!(titles(&app).await, ["After?", "Before?"], "a restore that fails changes nothing");
    app.kill();
    let (is_done, words) = said(&admin(&engine, &model, &["restore", copy]));
    assert!(is_done && words.contains("The previous database is kept in "), "{words}");
    let kept = words.trim().trim_end_matches('.').rsplit(" is kept in ").next().unwrap().to_owned();
    let app = TestApp::launch(&engine, &model);
    assert_eq!(titles(&app).await, ["Before?"]);
    app.kill();
    // The kept database can be restored as well, with the data that was only in its journal.
    assert!(said(&admin(&engine, &model, &["restore", &kept])).0);
    let app = TestApp::launch(&engine, &model);
    assert_eq!(titles(&app).await.len(), 2);
}

/// Returns the versions of a database's migrations, the oldest first.
async fn versions(file: &Path) -> Vec<i64> {
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(file).read_only(true)).await.unwrap();
    let versions = sqlx::query_scalar("SELECT version FROM _sqlx_migrations ORDER BY version").fetch_all(&pool).await;
    pool.close().await;
    versions.unwrap()
}

/// Runs a statement on a database file.
async fn run(file: &Path, sql: &'static str) {
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(file)).await.unwrap();
    sqlx::raw_sql(sql).execute(&pool).await.unwrap();
    pool.close().await;
}

/// A backup before an upgrade must be of the old version, and the program may turn out to be the wrong one.
#[tokio::test]
async fn a_backup_does_not_change_the_database() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let file = Path::new(engine.url.strip_prefix("sqlite://").unwrap());
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut migrations = sqlx::migrate!("../../migrations/sqlite");
    migrations.migrations.to_mut().retain(|migration| migration.version <= 20);
    let pool =
        SqlitePool::connect_with(SqliteConnectOptions::new().filename(file).create_if_missing(true)).await.unwrap();
    migrations.run(&pool).await.unwrap();
    pool.close().await;
    let before = std::fs::read(file).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let (is_done, words) = said(&admin(&engine, &model, &["backup", copy.to_str().unwrap()]));
    assert!(is_done, "{words}");
    assert!(std::fs::read(file).unwrap() == before, "the file is changed");
    assert_eq!(versions(&copy).await.last(), Some(&20));

    run(file, "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)").await;
    let later = folder.path().join("later.db");
    let (is_done, words) = said(&admin(&engine, &model, &["backup", later.to_str().unwrap()]));
    assert!(!is_done && words.contains("the database is newer than this program"), "{words}");
    assert!(!later.exists());
}

/// Every refused restore says what is wrong with the file, and changes nothing.
#[tokio::test]
async fn a_refused_restore_says_why() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let database = engine.url.strip_prefix("sqlite://").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let app = TestApp::launch(&engine, &model);
    for _ in 0..3 {
        ask(&app, &model, "Before?").await;
    }
    let good = path("good.db");
    assert!(said(&admin(&engine, &model, &["backup", good.to_str().unwrap()])).0);
    app.kill();
    let whole = std::fs::read(&good).unwrap();
    std::fs::write(path("short.db"), &whole[..whole.len() / 2]).unwrap();
    let mut corrupt = whole.clone();
    let middle = corrupt.len() / 2;
    corrupt[4096..middle].fill(0xa5);
    std::fs::write(path("corrupt.db"), &corrupt).unwrap();
    std::fs::write(path("empty.db"), b"").unwrap();
    std::fs::write(path("text.db"), "This is a note, and not a database. ".repeat(100)).unwrap();
    std::fs::create_dir(path("folder.db")).unwrap();
    std::fs::write(path("without.db"), b"").unwrap();
    run(&path("without.db"), "CREATE TABLE notes (id INTEGER); DROP TABLE notes").await;
    std::fs::write(path("other.db"), b"").unwrap();
    run(&path("other.db"), "CREATE TABLE notes (id INTEGER)").await;
    std::fs::write(path("newer.db"), &whole).unwrap();
    run(&path("newer.db"), "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)").await;

    let before = std::fs::read_dir(Path::new(database).parent().unwrap()).unwrap().count();
    for (name, expected) in [
        ("missing.db", "cannot read the backup"),
        ("folder.db", "cannot read the backup"),
        ("empty.db", "is not a backup of Tallybook: it is empty."),
        ("text.db", "is not a backup of Tallybook: it is not an SQLite database."),
        ("without.db", "is not a backup of Tallybook: it has no tables."),
        ("other.db", "is not a backup of Tallybook: it belongs to another program, and contains notes."),
        ("short.db", " is damaged: "),
        ("corrupt.db", " is damaged: "),
        ("newer.db", "the database is newer than this program"),
    ] {
        let (is_done, words) = said(&admin(&engine, &model, &["restore", path(name).to_str().unwrap()]));
        assert!(!is_done && words.contains(expected), "{name}: {words}");
        assert!(words.contains(name) && words.trim_end().ends_with("is unchanged."), "{name}: {words}");
        assert!(!words.contains(".restoring"), "{name}: {words}");
    }
    let (is_done, words) = said(&admin(&engine, &model, &["restore", database]));
    assert!(!is_done && words.contains("is the database itself, not a backup of it"), "{words}");
    assert_eq!(
        std::fs::read_dir(Path::new(database).parent().unwrap()).unwrap().count(),
        before,
        "no file is left over"
    );
    let app = TestApp::launch(&engine, &model);
    assert_eq!(titles(&app).await.len(), 3);
}

/// A command in the wrong folder must not create an empty database and report that all is well.
#[test]
fn a_missing_database_is_reported_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["users"][..], &["check"], &["keys"], &["retention"], &["backup", "copy.db"], &["restore", "copy.db"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
        let output = command.env_clear().arg("admin").args(args).current_dir(folder.path()).output().unwrap();
        let (is_done, words) = said(&output);
        assert!(!is_done && words.contains("the database data/tallybook.db does not exist"), "{args:?}: {words}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

on_every_engine! {
    /// The check finds nothing after a turn and while another one runs. It lists rows that contradict each other.
    async fn the_check_finds_contradicting_rows(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        ask(&app, &model, "Well?").await;
        let gate = model.reply_gated([text("It")], [text(" is.")]);
        let conversation = app.create_conversation().await;
        let _turn = app.send(&conversation, "And?").await;
        gate.reached().await;
        let (fits, words) = said(&admin(&engine, &model, &["check"]));
        assert!(fits && words.contains("is consistent"), "while it runs: {words}");
        execute!(app, "UPDATE tool_calls SET status = 'pending'");
        execute!(app, "UPDATE conversations SET active_message_id = NULL");
        let (fits, words) = said(&admin(&engine, &model, &["check"]));
        for found in ["1 tool calls are running in an answer that has ended", "1 answers are running"] {
            assert!(!fits && words.contains(found), "{words}");
        }
    }

    async fn the_check_finds_contradicting_copies(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        ask(&app, &model, "Well?").await;
        let conversation = app.get_json("/api/conversations").await["items"][0]["uuid"].as_str().unwrap().to_owned();
        let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let fork = format!("/api/conversations/{conversation}/fork");
        for _ in 0..2 {
            assert_eq!(app.post(&fork, json!({"message_id": answer})).await.status(), 201);
        }
        let (fits, words) = said(&admin(&engine, &model, &["check"]));
        assert!(fits, "{words}");
        execute!(app, AssertSqlSafe(format!(
            "UPDATE copied_tool_calls SET original_id = -original_id WHERE message_id = \
             (SELECT MAX(id) FROM messages WHERE copied_from = {answer})"
        )));
        execute!(app, AssertSqlSafe(format!("UPDATE messages SET copied_from = NULL WHERE copied_from = {answer} \
             AND conversation_id < (SELECT MAX(id) FROM conversations)")));
        execute!(app, AssertSqlSafe(format!("UPDATE messages SET copied_from = {answer} WHERE id = {answer}")));
        let (fits, words) = said(&admin(&engine, &model, &["check"]));
        let found = [
            "1 copied tool calls are in a message that is missing",
            "2 copied steps are in a message that is missing",
            "1 tool calls or copied tool calls have an ID that is not positive",
            "1 copied answers have tool calls of their own",
        ];
        for found in found {
            assert!(!fits && words.contains(found), "{found}: {words}");
        }
    }

    async fn the_check_finds_contradicting_budgets_files_and_feedback(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        ask(&app, &model, "Well?").await;
        let conversation = app.get_json("/api/conversations").await["items"][0]["uuid"].as_str().unwrap().to_owned();
        let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let fork = app.post(&format!("/api/conversations/{conversation}/fork"), json!({"message_id": answer})).await;
        assert_eq!(fork.status(), 201);
        let file = uploaded(&app, "a.txt", "A heron.").await;
        model.reply([text("It is grey.")]);
        files::ask(&app, &conversation, json!([{"type": "file", "file_id": file["id"]}])).await;
        execute!(app, "INSERT INTO budgets (principal, period, tokens, warn_at) SELECT 'user:' || id, 'day', 5, 0.8 FROM users");
        let rate = |role: &str| format!(
            "INSERT INTO feedback (message_id, rating, created_at, updated_at) \
             SELECT MAX(id), 'up', MAX(created_at), MAX(created_at) FROM messages WHERE role = '{role}'"
        );
        execute!(app, AssertSqlSafe(rate("assistant")));
        let (fits, words) = said(&admin(&engine, &model, &["check"]));
        assert!(fits, "{words}");

        execute!(app, AssertSqlSafe(rate("user")));
        execute!(app, "INSERT INTO budgets (principal, period, tokens, warn_at) \
            VALUES ('user:999999', 'day', 5, 0.8), ('group:999999', 'day', 5, 0.8), ('all', 'day', 5, 0.8)");
        // A call of another message, and one that does not exist.
        for call in ["(SELECT MIN(id) FROM copied_tool_calls)", "999999"] {
            execute!(app, AssertSqlSafe(format!("UPDATE message_files SET copied_call_id = {call}")));
            let (fits, words) = said(&admin(&engine, &model, &["check"]));
            for found in [
                "2 budgets belong to a user or a group that does not exist",
                "1 files belong to a copied tool call of another message, or to one that is missing",
                "1 messages of users have feedback",
            ] {
                assert!(!fits && words.contains(found), "{call}: {found}: {words}");
            }
        }
    }

    /// An operator can set another password for a user who has forgotten the old one.
    async fn an_operator_lists_accounts_and_sets_a_password(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let with_stdin = |args: [&str; 3], input: &str| {
            let mut command: Command = Program::command(&engine, &model);
            command.arg("admin").args(args).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            let mut child = command.spawn().expect("the program runs");
            std::io::Write::write_all(&mut child.stdin.take().expect("its input"), input.as_bytes()).expect("it reads");
            child.wait_with_output().expect("it ends")
        };
        assert!(said(&with_stdin(["create", "Root", "--password-stdin"], "a password of some length\n")).0);
        let (is_done, words) = said(&admin(&engine, &model, &["users"]));
        assert!(is_done && words.starts_with("root  admin  since 20"), "{words}");
        assert!(said(&with_stdin(["password", "root", "--password-stdin"], "another one of some length\n")).0);
        assert!(!said(&with_stdin(["password", "nobody", "--password-stdin"], "another one of some length\n")).0);
        let app = TestApp::launch_command(&engine, Program::command(&engine, &model).env("ACCOUNTS", "on"));
        for (password, status) in [("a password of some length", 401), ("another one of some length", 200)] {
            let body = json!({"name": "root", "password": password});
            assert_eq!(app.post("/api/session", body).await.status(), status);
        }
    }
}
