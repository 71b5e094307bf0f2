//! Calls with very large inputs or outputs: what events and messages contain of them, and how to get the rest.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::{ChatEvent, MAX_CALL_TEXT_BYTES, MAX_CALLS_BYTES, MessageStatus, ToolCall};
use tallybook_tools::builtin;

use crate::support::{Engine, TestApp, Writes, end_of, execute, on_every_engine, rows};

const MIB: usize = 1024 * 1024;

async fn spawn(engine: &Engine, model: &MockLlm) -> TestApp {
    let tools = builtin().unwrap().with(Writes).unwrap();
    TestApp::builder(engine).with_mock(model).with_tools(tools).spawn().await
}

/// Creates a conversation of five turns. The outputs of each turn fill the limit for the calls of one message.
async fn much(app: &TestApp, model: &MockLlm) -> String {
    let conversation = app.create_conversation().await;
    let input = json!({"bytes": MAX_CALL_TEXT_BYTES}).to_string();
    for _ in 0..5 {
        model
            .reply((0..MAX_CALLS_BYTES / MAX_CALL_TEXT_BYTES).map(|_| tool_call("writes", &input)).collect::<Vec<_>>());
        model.reply([text("Done.")]);
        app.send(&conversation, "Much.").await.all().await;
    }
    conversation
}

fn carried(calls: &[ToolCall]) -> usize {
    // An input of which nothing is left is an empty JSON string.
    let texts =
        |call: &ToolCall| call.input.as_str().len().saturating_sub(2) + call.output.as_ref().map_or(0, String::len);
    calls.iter().map(texts).sum()
}

on_every_engine! {
    /// The outputs are larger together than MariaDB accepts in one statement.
    async fn large_outputs_are_truncated_in_events_and_messages(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let input = json!({"bytes": MIB}).to_string();
        model.reply((0..17).map(|_| tool_call("writes", &input)).collect::<Vec<_>>());
        model.reply([text("Done.")]);
        let events = app.send(&conversation, "Much.").await.all().await;
        let end = end_of(&events);
        assert_eq!((end.status, &*end.content, end.tool_calls.len()), (MessageStatus::Complete, "Done.", 17));
        assert!(carried(&end.tool_calls) <= MAX_CALLS_BYTES, "{} bytes", carried(&end.tool_calls));
        for event in &events {
            let bytes = event.data().unwrap().len();
            assert!(bytes < MAX_CALLS_BYTES + 32 * 1024, "{} has {bytes} bytes", event.name());
        }
        for call in &end.tool_calls {
            assert_eq!((call.truncated, call.output_bytes), (true, i64::try_from(MIB).ok()));
        }

        // The stored message has the same truncated calls. The API returns the call itself in full.
        let stored: Vec<ToolCall> = serde_json::from_value(app.conversation(&conversation).await["messages"][1]["tool_calls"].clone()).unwrap();
        assert!(carried(&stored) <= MAX_CALLS_BYTES && stored.iter().all(|call| call.truncated));
        let id = stored[16].tool_call_id;
        let whole = app.get_json(&format!("/api/tool-calls/{id}")).await;
        assert_eq!(whole["output"].as_str().map(str::len), Some(MIB));
        assert_eq!((whole.get("truncated"), whole["input"].to_string()), (None, input.clone()));
        let file = app.get(&format!("/api/tool-calls/{id}?part=output")).await;
        assert_eq!(file.headers()["content-type"], "text/plain; charset=utf-8");
        assert!(file.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
        assert_eq!(file.text().await.unwrap(), "x".repeat(MIB));
        assert_eq!(app.get(&format!("/api/tool-calls/{id}?part=input")).await.text().await.unwrap(), input);
    }

    async fn missing_calls_and_missing_outputs_are_not_found(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("divide", r#"{"a":1,"b":0}"#)]);
        model.reply([text("No.")]);
        let events = app.send(&conversation, "1 / 0").await.all().await;
        let id = end_of(&events).tool_calls[0].tool_call_id;
        for (path, kind) in [
            ("/api/tool-calls/999999".to_owned(), "/problems/no-such-tool-call"),
            (format!("/api/tool-calls/{id}?part=output"), "/problems/no-output"),
        ] {
            let refused = app.get(&path).await;
            assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(refused.json::<Value>().await.unwrap()["type"], kind);
        }
        assert_eq!(app.get(&format!("/api/tool-calls/{id}?part=secrets")).await.status(), StatusCode::BAD_REQUEST);
    }

    /// MySQL rejects such a key in JSON.
    async fn an_overlong_key_in_arguments_fails_the_call_and_not_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let input = format!(r#"{{"a":1,"b":2,"{}":3}}"#, "k".repeat(70_000));
        model.reply([tool_call("add", &input)]);
        model.reply([text("Sorry.")]);
        let events = app.send(&conversation, "Add.").await.all().await;
        assert_eq!(end_of(&events).content, "Sorry.");
        let stored = rows!(app, (String, String, String), "SELECT status, error_type, input_text FROM tool_calls");
        assert_eq!(stored, [("error".to_owned(), "invalid_argument".to_owned(), input.clone())]);
        let Some(ChatEvent::ToolCallStart(start)) = events.iter().find(|e| e.name() == "tool_call_start") else { panic!() };
        let beginning: String = serde_json::from_str(start.input.as_str()).unwrap();
        assert_eq!((start.truncated, start.input_bytes), (true, i64::try_from(input.len()).ok()));
        assert_eq!(beginning, input[..MAX_CALL_TEXT_BYTES]);
    }

    /// Readers of server-sent events also end a line at a lone carriage return.
    async fn carriage_returns_in_arguments_do_not_split_an_event(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("add", "{\r\"a\": 1,\r\n\"b\": 2\r}")]);
        model.reply([text("3")]);
        let events = app.send(&conversation, "Add.").await.all().await;
        let end = end_of(&events);
        assert_eq!(end.tool_calls[0].output.as_deref(), Some("3"));
        let stored = rows!(app, (String,), "SELECT input_text FROM tool_calls");
        assert_eq!(stored[0].0, "{\r\"a\": 1,\r\n\"b\": 2\r}", "the tool history has the model's text");
    }
}

/// The calls store 2.5 MiB. A proxy counts how much of that the server reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_reads_only_the_texts_that_it_sends() {
    for engine in Engine::every_mysql_with_tables().await {
        let (engine, proxy) = engine.behind_proxy().await;
        let model = MockLlm::start().await.unwrap();
        let app = spawn(&engine, &model).await;
        let conversation = much(&app, &model).await;
        let before = proxy.answered_bytes();
        app.conversation(&conversation).await;
        let read = proxy.answered_bytes() - before;
        assert!((MAX_CALLS_BYTES..2 * MAX_CALLS_BYTES).contains(&read), "{read} bytes");
    }
}

/// Unreadable texts prove it: SQLite stores any bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_texts_are_not_read() {
    let model = MockLlm::start().await.unwrap();
    let app = spawn(&Engine::sqlite(), &model).await;
    let conversation = much(&app, &model).await;
    execute!(app, "UPDATE tool_calls SET output = CAST(X'FF' AS TEXT) WHERE id = (SELECT MIN(id) FROM tool_calls)");
    let messages = app.conversation(&conversation).await["messages"].take();
    let [oldest, newest] = [1, 9].map(|at| messages[at]["tool_calls"].clone());
    assert_eq!((&oldest[0]["output"], &oldest[0]["truncated"]), (&json!(""), &json!(true)));
    assert_eq!(newest[0]["output"], "x".repeat(MAX_CALL_TEXT_BYTES));
    let page = app.get(&format!("/api/conversations/{conversation}?before={}", messages[2]["id"])).await;
    assert_eq!(page.status(), StatusCode::INTERNAL_SERVER_ERROR, "this page contains the unreadable text");
}
