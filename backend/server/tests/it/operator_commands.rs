//! Operators' commands in a terminal: backup, restore, consistency check, and accounts.

use std::process::{Command, Output};

use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::support::{Engine, Program, TestApp, execute, on_every_engine};

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
    assert!(!is_done && words.contains("is not an SQLite database"), "{words}");
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

/// A command in the wrong folder must not create an empty database and report that all is well.
#[test]
fn a_missing_database_is_reported_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["users"][..], &["check"], &["keys"], &["retention"], &["backup", "copy.db"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
        let output = command.env_clear().arg("admin").args(args).current_dir(folder.path()).output().unwrap();
        let (is_done, words) = said(&output);
        assert!(!is_done && words.contains("there is no database at data/tallybook.db"), "{args:?}: {words}");
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
            let body = serde_json::json!({"name": "root", "password": password});
            assert_eq!(app.post("/api/session", body).await.status(), status);
        }
    }
}
