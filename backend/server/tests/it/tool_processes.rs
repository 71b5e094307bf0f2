//! Tool servers that are programs, named in the settings file of the real program.

#![cfg(target_os = "linux")]

use std::{fs, path::Path};

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::Program as ServerProgram;
use tallybook_protocol::MessageStatus;
use tempfile::TempDir;

use crate::support::{Engine, Program, TestApp, end_of, eventually, on_every_engine, rows};

/// Serves as a tool server if this binary was started as one; see [`ServerProgram`].
#[test]
fn tool_server_process() {
    tallybook_mock_mcp::serve_if_asked();
}

/// Starts the program with the tool server `mock` in its settings file, and waits until `mock` is connected.
async fn connected(engine: &Engine, model: &MockLlm, faults: &[&str]) -> (TempDir, TestApp) {
    let ServerProgram { command, args, env } = ServerProgram::of_test("tool_processes::tool_server_process", faults);
    // JSON strings are valid TOML strings, too.
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
    let (command, args, env) = (json!(command), json!(args), env.join(", "));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tallybook.toml");
    let section =
        format!("[tool_servers.mock]\ncommand = {command}\nargs = {args}\nenv = {{ {env} }}\nrisk = \"low\"\n");
    fs::write(&file, section).unwrap();
    let app = TestApp::launch_command(engine, Program::command(engine, model).env("CONFIG_FILE", file));
    let is_connected = async || app.get_json("/api/tools").await["servers"][0]["status"] == "connected";
    eventually("the tool server is connected", is_connected).await;
    (folder, app)
}

/// Returns `true` if a process exists and is not a zombie.
fn is_alive(process: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(process).join("stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

fn parent_of(process: &str) -> String {
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap();
    // The state and the parent follow the name, which may contain anything.
    stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

/// Returns the child processes of a process.
fn children_of(process: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_child = |child: &String| {
        // The process may have ended in the meantime.
        let stat = fs::read_to_string(Path::new("/proc").join(child).join("stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(process)
    };
    processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_child).collect()
}

on_every_engine! {
    async fn a_turn_calls_a_tool_of_a_server_in_the_settings_file(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (_folder, app) = connected(&engine, &model, &[]).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__echo", json!({ "text": "こだま" }).to_string())]);
        model.reply([text("Said.")]);
        let events = app.send(&conversation, "Echo").await.all().await;
        assert_eq!((end_of(&events).status, end_of(&events).content.as_str()), (MessageStatus::Complete, "Said."));
        let calls = rows!(app, (String, String, Option<String>), "SELECT tool_name, status, output FROM tool_calls");
        assert_eq!(calls, [("mock__echo".to_owned(), "success".to_owned(), Some("こだま".to_owned()))]);
        model.assert_calls_paired();
    }

    /// The running program lists its tools: a test does not start it a second time.
    async fn a_test_asks_the_running_program(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (_folder, app) = connected(&engine, &model, &[]).await;
        let children = || children_of(&app.process().id().to_string());
        let before = children();
        let path = "/api/admin/tool-servers/mock";
        let tested: Value = app.post(&format!("{path}/test"), json!({})).await.json().await.unwrap();
        let tools = tested["tools"].as_array().unwrap();
        assert!(tested["ok"] == true && tools.iter().any(|tool| tool["name"] == "echo"), "{tested}");
        assert!(!before.is_empty());
        assert_eq!(children(), before, "the same processes");
        let shown = app.get_json(path).await;
        assert_eq!((&shown["url"], &shown["risk"], &shown["origin"]), (&json!(""), &json!("low"), &json!("file")), "{shown}");
    }
}

/// The tool server does not even end when its input ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_servers_and_their_children_end_with_a_killed_program() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let (_folder, app) = connected(&engine, &model, &["lingers"]).await;
    let conversation = app.create_conversation().await;
    model.reply([tool_call("mock__spawn", "{}")]);
    model.reply([text("It sleeps.")]);
    app.send(&conversation, "Sleep").await.all().await;
    let grandchild = rows!(app, (Option<String>,), "SELECT output FROM tool_calls").remove(0).0.unwrap();
    let server = parent_of(&grandchild);
    assert!(is_alive(&server) && is_alive(&grandchild));
    app.kill();
    eventually("both processes end", async || !is_alive(&server) && !is_alive(&grandchild)).await;
}
