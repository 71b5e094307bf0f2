//! Export of a conversation as a file.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::support::{Engine, RawConnection, TestApp, execute, on_every_engine};

async fn export(app: &TestApp, conversation: &str, format: &str) -> Response {
    app.get(&format!("/api/conversations/{conversation}/export?format={format}")).await
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

on_every_engine! {
    /// JSON has the format of the API and a version. Markdown has everything in the order in which it happened.
    async fn a_conversation_is_exported_with_its_tool_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let exact = r#"{"b": 1.10, "a": 777777777777777777777777777}"#;
        model.reply([text("Both. "), tool_call("add", exact), tool_call("divide", r#"{"a":1,"b":0}"#)]);
        model.reply([text("One of them works.")]);
        app.send(&conversation, "計算: 7 + 1.10?").await.all().await;

        let response = export(&app, &conversation, "json").await;
        assert_eq!(header(&response, "content-type"), "application/json");
        let file = response.text().await.unwrap();
        assert!(file.contains(exact), "the file has every digit: {file}");
        let mut file: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(file.as_object_mut().unwrap().remove("version"), Some(json!(1)));
        assert_eq!(file, app.conversation(&conversation).await);

        let response = export(&app, &conversation, "markdown").await;
        assert_eq!(header(&response, "content-type"), "text/markdown; charset=utf-8");
        assert_eq!(header(&response, "cache-control"), "no-store");
        assert_eq!(
            header(&response, "content-disposition"),
            "attachment; filename=\"7-1-10.md\"; filename*=UTF-8''%E8%A8%88%E7%AE%97%2D7%2D1%2D10.md"
        );
        let file = response.text().await.unwrap();
        let parts = [
            "# 計算: 7 \\+ 1.10?", "## You", "> 計算: 7 + 1.10?", "## Assistant", "Both.", "`add` · done", exact,
            "777777777777777777777777778.1", "`divide` · failed", "invalid_b: division by zero", "One of them works.",
        ];
        let places: Vec<_> = parts.iter().map(|part| file.find(part).unwrap_or_else(|| panic!("{part} in {file}"))).collect();
        assert!(places.is_sorted(), "{places:?} in {file}");
    }

    async fn a_running_turn_is_exported_with_its_stored_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_late([text("Three.")]);
        let mut turn = app.send(&conversation, "1 + 2?").await;
        turn.until("tool_call_end").await;
        let file: Value = export(&app, &conversation, "json").await.json().await.unwrap();
        let answer = &file["messages"][1];
        assert_eq!((&answer["status"], &answer["content"]), (&json!("streaming"), &json!("Adding. ")));
        assert_eq!(answer["tool_calls"][0]["output"], "3");
        let markdown = export(&app, &conversation, "markdown").await.text().await.unwrap();
        assert!(markdown.contains("This answer was still being written."), "{markdown}");
        gate.open();
        turn.all().await;
    }

    /// The server reads each call by itself, so their total size does not matter.
    async fn calls_with_long_texts_are_exported_completely_and_in_order(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        app.send(&conversation, "1 + 2?").await.all().await;
        let long = "y".repeat(700_000);
        for position in 1..=5 {
            execute!(app, sqlx::AssertSqlSafe(format!(
                "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, output, status, step, \
                 position, text_offset, started_at) SELECT message_id, 'c', 'call{position}', input, input_text, '{long}', \
                 status, step, {position}, text_offset, started_at FROM tool_calls WHERE position = 0"
            )));
        }
        let file: Value = export(&app, &conversation, "json").await.json().await.unwrap();
        let calls = file["messages"][1]["tool_calls"].as_array().unwrap();
        let names: Vec<_> = calls.iter().map(|call| call["tool_name"].as_str().unwrap()).collect();
        assert_eq!(names, ["add", "call1", "call2", "call3", "call4", "call5"]);
        assert!(calls[1..].iter().all(|call| call["output"] == *long && call.get("truncated").is_none()));
        assert_eq!(file["messages"][1]["content"], "Adding. \n\nThree.");

        let file = export(&app, &conversation, "markdown").await.text().await.unwrap();
        assert_eq!(file.matches(&long).count(), 5);
        let places: Vec<_> = ["Adding.", "`add`", "`call1`", "`call5`", "Three."].map(|part| file.find(part).unwrap()).into();
        assert!(places.is_sorted(), "{places:?}");
    }

    /// Slow clients use up the user's concurrent exports. The next export waits until one of them ends, and is refused
    /// if none does.
    async fn too_many_slow_exports_refuse_the_next_one_with_advice(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        // The real program with its real timeout. Servers in the test's process soon drop a client that accepts no
        // data.
        let app = TestApp::launch(&engine, &model);
        let conversation = app.create_conversation().await;
        for _ in 0..8 {
            model.reply([text("Yes.")]);
            app.send(&conversation, "Go?").await.all().await;
        }
        // Longer than the server's buffers.
        let long = "words ".repeat(250_000);
        execute!(app, sqlx::AssertSqlSafe(format!("UPDATE messages SET content = '{long}'")));
        let host = app.address.trim_start_matches("http://");
        let mut slow = Vec::new();
        for _ in 0..2 {
            let mut connection = RawConnection::open_narrow(&app).await;
            let path = format!("/api/conversations/{conversation}/export?format=json");
            connection.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
            assert!(connection.until("\r\n\r\n").await.starts_with("HTTP/1.1 200"));
            slow.push(connection);
        }
        let refused = export(&app, &conversation, "json").await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(header(&refused, "retry-after"), "5");
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/too-many-exports");
        slow.pop();
        let whole: Value = export(&app, &conversation, "json").await.json().await.unwrap();
        assert_eq!(whole["messages"].as_array().unwrap().len(), 16);
    }

    async fn empty_unknown_and_unsupported_exports_are_handled(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let empty: Value = export(&app, &conversation, "json").await.json().await.unwrap();
        assert_eq!(empty["messages"], json!([]));
        for (conversation, format, status) in [
            ("00000000-0000-4000-8000-000000000000", "json", StatusCode::NOT_FOUND),
            (&*conversation, "pdf", StatusCode::BAD_REQUEST),
        ] {
            let response = export(&app, conversation, format).await;
            assert_eq!(response.status(), status, "{format}");
            assert_eq!(header(&response, "content-type"), "application/problem+json");
        }
    }
}
