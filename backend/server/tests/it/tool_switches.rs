//! Tools that are turned off in a conversation: they are not offered and do not run, and other users cannot see or
//! change that.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_agent::Limits;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::ToolRegistry;

use crate::support::{Counts, Engine, Hangs, TestApp, end_of, execute, on_every_engine, rows};

/// Returns the names of the tools that are turned off.
async fn disabled(app: &TestApp, conversation: &str) -> Value {
    app.get_json(&format!("/api/conversations/{conversation}/tools")).await["disabled"].take()
}

async fn set_disabled(app: &TestApp, conversation: &str, names: &Value) -> StatusCode {
    let path = app.url(&format!("/api/conversations/{conversation}/tools"));
    app.client.put(path).json(&json!({ "disabled": names })).send().await.unwrap().status()
}

/// Returns the names of the tools in the latest request to the model.
fn offered(model: &MockLlm) -> Vec<String> {
    let body = model.requests().last().unwrap().body.clone();
    let names = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

on_every_engine! {
    async fn disabled_tools_are_not_offered_from_the_first_message_on(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let new = json!({ "disabled_tools": ["multiply", "add", "multiply", "later__there"] });
        let made: Value = app.post("/api/conversations", new).await.json().await.unwrap();
        let conversation = made["uuid"].as_str().unwrap();
        assert_eq!(disabled(&app, conversation).await, json!(["add", "later__there", "multiply"]));
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("I may not add.")]);
        app.send(conversation, "1 + 2?").await.all().await;
        assert!(!offered(&model).contains(&"add".to_owned()) && offered(&model).contains(&"divide".to_owned()));
        let request = model.requests().last().unwrap().body.clone();
        assert!(request["system"].to_string().contains("You have tools: convert_units, "), "{}", request["system"]);
        let rows = rows!(app, (String, Option<String>), "SELECT status, error_type FROM tool_calls");
        assert_eq!(rows, [("error".to_owned(), Some("tool_disabled".to_owned()))]);

        assert_eq!(set_disabled(&app, conversation, &json!([])).await, StatusCode::OK);
        assert_eq!(disabled(&app, conversation).await, json!([]));
        model.reply([text("Now I may.")]);
        app.send(conversation, "And now?").await.all().await;
        assert!(offered(&model).contains(&"add".to_owned()));
        model.assert_calls_paired();
    }

    async fn a_waiting_call_of_a_disabled_tool_fails_when_the_turn_resumes(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let tools = ToolRegistry::default().with(Hangs).unwrap().with(counts.clone()).unwrap();
        let limits = Limits { concurrent_calls_per_turn: 1, ..Limits::default() };
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).with_limits(limits).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("hangs", "{}"), tool_call("counts", "{}")]);
        let mut turn = app.send(&conversation, "Count").await;
        turn.until("tool_call_start").await;
        app.post(&format!("/api/conversations/{conversation}/stop"), Value::Null).await;
        app.idle_conversation(&conversation).await;

        assert_eq!(set_disabled(&app, &conversation, &json!(["counts"])).await, StatusCode::OK);
        model.reply([text("It is off.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        assert_eq!(end_of(&events).content, "It is off.");
        assert_eq!(offered(&model), ["hangs"]);
        let rows = rows!(app, (String, Option<String>), "SELECT tool_name, error FROM tool_calls ORDER BY position");
        assert_eq!(rows[1].0, "counts");
        assert!(rows[1].1.as_deref().unwrap().contains("turned off in this conversation"), "{rows:?}");
        assert_eq!(counts.runs(), 0);
        model.assert_calls_paired();
    }

    async fn switches_by_session_id_do_not_change_other_tools(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        set_disabled(&app, &conversation, &json!(["add", "divide"])).await;
        let switches = json!({ "session_id": conversation, "tools": { "add": true, "multiply": false, "subtract": true } });
        let answer = app.post("/api/tools/settings", switches).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "disabled": ["divide", "multiply"] }));
        assert_eq!(disabled(&app, &conversation).await, json!(["divide", "multiply"]));
    }

    /// The chat ids of Open `WebUI` are UUIDs, too, but no conversation here has them.
    async fn switches_accept_chat_ids_of_open_webui(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        for chat in ["8f2a9ad1-0c70-4f1c-9a38-0f2a4b6e7d11", "my chat"] {
            model.reply([text("Hello.")]);
            let question = json!({"messages": [{"role": "user", "content": "Hello"}]});
            let request = app.client.post(app.url("/v1/chat/completions")).header("X-OpenWebUI-Chat-Id", chat);
            let answer = request.json(&question).send().await.unwrap();
            let conversation = answer.headers()["X-Tallybook-Conversation"].to_str().unwrap().to_owned();
            answer.text().await.unwrap();
            let switches = json!({ "session_id": chat, "tools": { "add": false } });
            assert_eq!(app.post("/api/tools/settings", switches).await.status(), StatusCode::OK, "{chat}");
            assert_eq!(disabled(&app, &conversation).await, json!(["add"]));
        }
        for unknown in ["", "another chat", "00000000-0000-4000-8000-000000000000", &"x".repeat(10_000)] {
            let switches = json!({ "session_id": unknown, "tools": { "add": false } });
            assert_eq!(app.post("/api/tools/settings", switches).await.status(), StatusCode::NOT_FOUND);
        }
    }

    async fn invalid_switches_are_refused_and_change_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let many = |count: usize| (0..count).map(|number| format!("{number:064}")).collect::<Vec<_>>();
        let bad = [json!(["no spaces"]), json!([""]), json!(["x".repeat(65)]), json!(["名前"]), json!(many(501))];
        for names in bad {
            assert_eq!(set_disabled(&app, &conversation, &names).await, StatusCode::UNPROCESSABLE_ENTITY, "{names}");
            let made = app.post("/api/conversations", json!({ "disabled_tools": names })).await;
            assert_eq!(made.status(), StatusCode::UNPROCESSABLE_ENTITY, "{names}");
        }
        assert_eq!(disabled(&app, &conversation).await, json!([]));
        assert_eq!(set_disabled(&app, &conversation, &json!(many(500))).await, StatusCode::OK);
        let one_more = json!({ "session_id": conversation, "tools": { "add": false } });
        assert_eq!(app.post("/api/tools/settings", one_more).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(disabled(&app, &conversation).await, json!(many(500)));
    }

    async fn the_switches_of_another_users_conversation_are_not_found(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        execute!(app, "INSERT INTO users (id, name, role, created_at) VALUES (2, 'other', 'user', '2026-01-01 00:00:00')");
        execute!(app, "UPDATE conversations SET user_id = 2");
        let path = format!("/api/conversations/{conversation}/tools");
        assert_eq!(app.get(&path).await.status(), StatusCode::NOT_FOUND);
        assert_eq!(set_disabled(&app, &conversation, &json!(["add"])).await, StatusCode::NOT_FOUND);
        let switches = json!({ "session_id": conversation, "tools": { "add": false } });
        assert_eq!(app.post("/api/tools/settings", switches).await.status(), StatusCode::NOT_FOUND);
        let stored = rows!(app, (Option<String>,), "SELECT disabled_tools FROM conversations");
        assert_eq!(stored, [(None,)]);
    }
}
