//! Reactions of the program to signals, and its limit on open files.

#![cfg(unix)]

use std::{process::Command, time::Duration};

use serde_json::json;
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::{ChatEvent, MessageStatus};

use crate::support::{Engine, Program, TestApp, eventually};

/// Returns the program without the effect of `nohup`, which makes all processes below it ignore SIGHUP. These tests may
/// run below it.
#[cfg(target_os = "linux")]
fn outside_of_nohup(engine: &Engine, model: &MockLlm) -> Command {
    Program::command_after("exec env --default-signal=HUP \"$0\"", engine, model)
}

#[cfg(not(target_os = "linux"))]
fn outside_of_nohup(engine: &Engine, model: &MockLlm) -> Command {
    Program::command(engine, model)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_lets_running_turns_finish() {
    for signal in ["TERM", "INT", "HUP"] {
        let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
        let app = TestApp::launch_command(&engine, &mut outside_of_nohup(&engine, &model));
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("Nearly ")], [text("done.")]);
        let mut turn = app.send(&conversation, "Still there?").await;
        turn.until("content_delta").await;
        app.process().signal(signal);
        gate.open();
        let end = turn.until("message_end").await.event;
        assert!(matches!(end, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Complete), "{signal}");
        assert!(app.wait(), "the program exits with success after SIG{signal}");
    }
}

/// The request waits for a lock of the database when the shutdown begins, and uses the database again after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_from_before_the_shutdown_is_answered() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::spawn(&engine, &model).await;
    let conversation = app.create_conversation().await;
    let mut feed = app.get("/api/events").await;
    let pool = engine.pool().await.sqlite();
    let held = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let path = app.url(&format!("/api/conversations/{conversation}"));
    let renaming = tokio::spawn(app.client.patch(path).json(&json!({"title": "Renamed"})).send());
    eventually("the request waits for the lock", async || {
        let metrics = app.get("/metrics").await.text().await.unwrap();
        // The connections of the feed, of the request that waits, and of this request.
        let has = |line: &str| metrics.lines().any(|found| found == line);
        has("tallybook_http_connections 3") && !has("tallybook_database_connections{state=\"used\"} 0")
    })
    .await;
    let shutting_down = tokio::spawn(app.shut_down());
    // The feed ends when the shutdown begins.
    while feed.chunk().await.unwrap().is_some() {}
    held.rollback().await.unwrap();
    let renamed = renaming.await.unwrap().unwrap();
    assert_eq!(renamed.status(), 200, "{}", renamed.text().await.unwrap());
    shutting_down.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_the_program_at_once() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let mut command = Program::command(&engine, &model);
    let app = TestApp::launch_command(&engine, command.env("SHUTDOWN_GRACE_SECS", "3600"));
    let conversation = app.create_conversation().await;
    let _gate = model.reply_gated([text("For ever ")], [text("and ever.")]);
    let mut turn = app.send(&conversation, "How long?").await;
    turn.until("content_delta").await;
    app.process().signal("TERM");
    eventually("the server is stopping", async || app.get("/readyz").await.status() == 503).await;
    // Closing a terminal can send SIGHUP several times, so SIGHUP never forces the end.
    app.process().signal("HUP");
    assert_eq!(app.get("/healthz").await.status(), 200);
    app.process().signal("INT");
    assert!(!app.wait(), "the program exits with failure");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg(target_os = "linux")]
async fn under_nohup_the_program_ignores_sighup() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::launch_command(&engine, &mut Program::command_after("trap '' HUP", &engine, &model));
    let status = app.process().kernel_file("status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 1, 1, "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg(target_os = "linux")]
async fn the_limit_on_open_files_is_raised() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::launch_command(&engine, &mut Program::command_after("ulimit -S -n 64", &engine, &model));
    let limits = app.process().kernel_file("limits");
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let files: Vec<&str> = files.split_whitespace().collect();
    assert_eq!(files[0], files[1], "the soft limit equals the hard limit: {limits}");
    assert_ne!(files[0], "64");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_is_notified() {
    let (engine, model, folder) = (Engine::sqlite(), MockLlm::start().await.unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("notify");
    let socket = tokio::net::UnixDatagram::bind(&path).unwrap();
    let app = TestApp::launch_command(&engine, Program::command(&engine, &model).env("NOTIFY_SOCKET", &path));
    let received = async || {
        let mut buffer = [0; 64];
        let length = tokio::time::timeout(Duration::from_secs(30), socket.recv(&mut buffer)).await.unwrap().unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    assert_eq!(received().await.trim(), "READY=1");
    app.process().signal("TERM");
    assert_eq!(received().await.trim(), "STOPPING=1");
    assert!(app.wait());
}
