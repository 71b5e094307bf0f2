//! Tools of tool servers in turns: offered, called, reported, stopped and lost.

use serde_json::{Value, json};
use tallybook_mcp::{ToolServersSettings, read_servers_file};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::{MockMcp, Program};
use tallybook_protocol::{ChatEvent, MessageStatus, ToolCallStatus};

use crate::support::{Engine, TestApp, eventually, on_every_engine, rows};

/// Serves as a tool server if this binary was started as one; see [`Program`].
#[test]
fn tool_server_process() {
    tallybook_mock_mcp::serve_if_asked();
}

fn settings(servers: &Value) -> ToolServersSettings {
    read_servers_file(&json!({ "mcpServers": servers }).to_string()).unwrap()
}

/// Starts a server with one tool server, and waits until that is connected.
async fn connected(engine: &Engine, model: &MockLlm, entry: Value) -> TestApp {
    let app =
        TestApp::builder(engine).with_mock(model).with_tool_servers(settings(&json!({ "mock": entry }))).spawn().await;
    status_is(&app, "connected").await;
    app
}

async fn status_is(app: &TestApp, status: &str) {
    eventually("the tool server's status", async || app.get_json("/api/tools").await["servers"][0]["status"] == status)
        .await;
}

fn low_risk(mock: &MockMcp) -> Value {
    json!({ "url": mock.url(), "risk": "low" })
}

/// Columns of a call: tool, status, output, kind of error.
type Row = (String, String, Option<String>, Option<String>);

on_every_engine! {
    async fn a_turn_calls_a_tool_of_a_server(engine: Engine) {
        let mock = MockMcp::start(&[]).await.unwrap();
        let model = MockLlm::start().await.unwrap();
        let app = connected(&engine, &model, low_risk(&mock)).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__echo", r#"{"text":"こ\u0000だま"}"#), tool_call("mock__fail", "{}")]);
        model.reply([text("Said.")]);
        let events = app.send(&conversation, "Echo").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Said."));
        let calls = rows!(app, Row, "SELECT tool_name, status, output, error_type FROM tool_calls ORDER BY position");
        let echo = ("mock__echo".to_owned(), "success".to_owned(), Some("こ\u{fffd}だま".to_owned()), None);
        let fail = ("mock__fail".to_owned(), "error".to_owned(), None, Some("tool_error".to_owned()));
        assert_eq!(calls, [echo, fail]);
        model.assert_calls_paired();
    }

    async fn stopping_during_a_call_cancels_it_at_the_tool_server(engine: Engine) {
        let mock = MockMcp::start(&[]).await.unwrap();
        let model = MockLlm::start().await.unwrap();
        let app = connected(&engine, &model, low_risk(&mock)).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__slow", "{}")]);
        let mut turn = app.send(&conversation, "Work").await;
        let start = turn.until("tool_call_start").await;
        let ChatEvent::ToolCallStart(call) = &start.event else { panic!("{:?}", start.event) };
        let received = turn.until("tool_call_progress").await;
        assert_eq!(received.id, start.id, "the event has no id of its own");
        let ChatEvent::ToolCallProgress(progress) = received.event else { panic!("{:?}", received.event) };
        assert_eq!(progress.tool_call_id, call.tool_call_id);
        assert_eq!((progress.total.unwrap().as_f64(), progress.message.as_deref()), (Some(4.0), Some("working")));
        app.post(&format!("/api/conversations/{conversation}/stop"), Value::Null).await;
        let ended = turn.until("tool_call_end").await.event;
        assert!(matches!(ended, ChatEvent::ToolCallEnd(end) if end.status == ToolCallStatus::Cancelled));
        let end = turn.until("message_end").await.event;
        assert!(matches!(end, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Stopped));
        mock.has_seen("cancelled").await;
        let stored = rows!(app, (String,), "SELECT DISTINCT event FROM journal_events ORDER BY event");
        assert!(stored.iter().all(|(event,)| event != "tool_call_progress"), "{stored:?}");
    }

    async fn a_tool_server_that_dies_during_a_call_does_not_end_the_turn(engine: Engine) {
        let Program { command, args, env } = Program::of_test("tool_servers::tool_server_process", &[]);
        let model = MockLlm::start().await.unwrap();
        let entry = json!({ "command": command, "args": args, "env": env, "risk": "low" });
        let app = connected(&engine, &model, entry).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__die", "{}")]);
        model.reply([text("It is gone.")]);
        let events = app.send(&conversation, "Die").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "It is gone."));
        let kinds = rows!(app, (String, Option<String>), "SELECT status, error_type FROM tool_calls");
        assert_eq!(kinds, [("error".to_owned(), Some("mcp_unavailable".to_owned()))]);
        status_is(&app, "connected").await;
        app.shut_down().await;
    }

    /// The entry is as in a `.mcp_servers` file that other programs write: it does not set the risk.
    async fn by_default_only_read_only_tools_run_without_approval(engine: Engine) {
        let mock = MockMcp::start(&[]).await.unwrap();
        let model = MockLlm::start().await.unwrap();
        let app = connected(&engine, &model, json!({ "url": mock.url() })).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__echo", r#"{"text":"hi"}"#), tool_call("mock__change", "{}")]);
        app.send(&conversation, "Echo and change").await.all().await;
        let calls = rows!(app, (String, String), "SELECT tool_name, status FROM tool_calls ORDER BY position");
        let expected = [("mock__echo", "success"), ("mock__change", "awaiting_approval")];
        assert_eq!(calls, expected.map(|(tool, status)| (tool.to_owned(), status.to_owned())));
    }

    async fn a_turn_right_after_a_start_waits_for_connecting_tool_servers(engine: Engine) {
        let mock = MockMcp::start(&[]).await.unwrap();
        let model = MockLlm::start().await.unwrap();
        mock.hold();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tool_servers(settings(&json!({ "mock": low_risk(&mock) })))
            .spawn()
            .await;
        status_is(&app, "connecting").await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__echo", r#"{"text":"there"}"#)]);
        model.reply([text("Said.")]);
        let mut turn = app.send(&conversation, "Echo").await;
        turn.until("message_start").await;
        assert!(model.requests().is_empty());
        mock.release();
        turn.until("message_end").await;
        let calls = rows!(app, (String, Option<String>), "SELECT status, output FROM tool_calls");
        assert_eq!(calls, [("success".to_owned(), Some("there".to_owned()))]);

        // A turn that waits can be stopped.
        app.shut_down().await;
        mock.hold();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tool_servers(settings(&json!({ "mock": low_risk(&mock) })))
            .spawn()
            .await;
        let mut turn = app.send(&conversation, "Again").await;
        turn.until("message_start").await;
        app.post(&format!("/api/conversations/{conversation}/stop"), Value::Null).await;
        let end = turn.until("message_end").await.event;
        assert!(matches!(end, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Stopped));
        status_is(&app, "connecting").await;
    }

    async fn a_high_risk_tool_needs_approval(engine: Engine) {
        let mock = MockMcp::start(&[]).await.unwrap();
        let model = MockLlm::start().await.unwrap();
        let app = connected(&engine, &model, json!({ "url": mock.url(), "risk": "high" })).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("mock__echo", "{}")]);
        app.send(&conversation, "Echo").await.all().await;
        assert_eq!(rows!(app, (String,), "SELECT status FROM tool_calls"), [("awaiting_approval".to_owned(),)]);
        assert!(!mock.seen().contains(&"tools/call echo".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_server_that_is_down_at_start_is_reported_and_blocks_nothing() {
    let model = MockLlm::start().await.unwrap();
    let servers = json!({ "gone": { "command": "/does/not/exist" }, "unset": { "url": "https://${UNSET_HERE}/mcp" } });
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_tool_servers(settings(&servers)).spawn().await;
    status_is(&app, "failed").await;
    let tools = app.get_json("/api/tools").await;
    assert!(tools["items"].as_array().unwrap().iter().all(|tool| tool["server"].is_null()), "{tools}");
    assert!(tools["servers"][0]["error"].as_str().unwrap().contains("its program cannot be started"), "{tools}");
    assert_eq!(tools["servers"][1]["error"], "the environment variable UNSET_HERE is not set");
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("Three.")]);
    let events = app.send(&conversation, "1 + 2?").await.all().await;
    assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Three."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tools_of_a_server_are_listed_with_the_excluded_ones() {
    let mock = MockMcp::start(&[tallybook_mock_mcp::Fault::OddSchemas]).await.unwrap();
    let model = MockLlm::start().await.unwrap();
    let app = connected(&Engine::sqlite(), &model, json!({ "url": mock.url(), "risk": "claimed" })).await;
    let tools = app.get_json("/api/tools").await;
    let echo = tools["items"].as_array().unwrap().iter().find(|tool| tool["name"] == "mock__echo").unwrap();
    let expected = json!({
        "name": "mock__echo", "server": "mock", "description": "The tool echo.", "risk": "low", "idempotent": true,
        "enabled": true, "input_schema": { "type": "object", "properties": {} },
    });
    assert_eq!(*echo, expected);
    let left_out =
        json!([{ "name": "elsewhere", "reason": "its schema refers to another document: https://example.com/a" }]);
    assert_eq!(tools["servers"], json!([{ "name": "mock", "status": "connected", "tools": 14, "left_out": left_out }]));
}
