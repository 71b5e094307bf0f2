//! Continuing in a new conversation: its messages, calls and files, what the model receives, and that nothing counts
//! twice. `accounts::shared_copies` tests copies of shared conversations.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mcp::read_servers_file;
use tallybook_mock_llm::{MockLlm, text, thinking, tool_call};
use tallybook_mock_mcp::{Fault, MockMcp};

use crate::{
    files::{PNG, images_in, uploaded},
    operator_commands::{admin, said},
    plan::{LONG, plan},
    support::{Engine, EventReader, TestApp, eventually, execute, on_every_engine, rows},
};

/// Counts everything that statistics, budgets, usage and operators' SQL count.
const COUNTED: &str = "SELECT (SELECT COUNT(*) FROM tool_calls), (SELECT COUNT(*) FROM tool_history), \
    (SELECT COUNT(*) FROM model_calls), (SELECT COUNT(*) FROM journal_events), (SELECT COUNT(*) FROM feedback)";

/// Counts the rows that forks fill.
const LEFT: &str = "SELECT (SELECT COUNT(*) FROM conversations) + (SELECT COUNT(*) FROM messages) \
    + (SELECT COUNT(*) FROM tool_calls) + (SELECT COUNT(*) FROM model_calls) + (SELECT COUNT(*) FROM reasonings) \
    + (SELECT COUNT(*) FROM copied_tool_calls) + (SELECT COUNT(*) FROM copied_model_calls) \
    + (SELECT COUNT(*) FROM message_files) + (SELECT COUNT(*) FROM tool_call_files)";

async fn try_fork(app: &TestApp, conversation: &str, message: &Value) -> Response {
    app.post(&format!("/api/conversations/{conversation}/fork"), json!({"message_id": message})).await
}

/// Forks a conversation at a message, and returns the UUID of the fork.
async fn fork(app: &TestApp, conversation: &str, message: &Value) -> String {
    let response = try_fork(app, conversation, message).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let fork: Value = response.json().await.unwrap();
    assert_eq!(status, StatusCode::CREATED, "{fork}");
    let uuid = fork["uuid"].as_str().unwrap();
    assert_eq!(headers["location"], format!("/api/conversations/{uuid}"));
    assert_ne!(uuid, conversation);
    uuid.to_owned()
}

async fn assert_problem(response: Response, status: u16, kind: &str) {
    let found = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    assert_eq!((found, &problem["type"]), (status, &json!(format!("/problems/{kind}"))), "{problem}");
}

/// Asks a question with a file. The answer has reasoning and a tool call.
async fn ask_with_file(app: &TestApp, model: &MockLlm, conversation: &str) -> Value {
    let file = uploaded(app, "notes.txt", "Herons eat fish.").await;
    model.reply([thinking("One call.", "c2ln"), text("Let me add."), tool_call("add", r#"{"b": 2, "a":1}"#)]);
    model.reply([text("It is 3.")]);
    let parts = json!([{"type": "text", "text": "1 + 2?"}, {"type": "file", "file_id": file["id"]}]);
    let turn = app.post(&format!("/api/conversations/{conversation}/messages"), json!({"parts": parts})).await;
    assert_eq!(turn.status(), StatusCode::OK);
    EventReader::new(turn).all().await;
    file
}

/// Returns a conversation's messages without what differs between an original and its copy.
fn comparable(conversation: &Value) -> Vec<Value> {
    let without = |message: &Value| {
        let mut message = message.clone();
        for field in ["id", "usage", "siblings", "feedback"] {
            message.as_object_mut().unwrap().remove(field);
        }
        for call in message["tool_calls"].as_array_mut().unwrap() {
            call.as_object_mut().unwrap().remove("tool_call_id");
        }
        if let Some(plan) = message.get_mut("plan") {
            plan["plan_id"].take();
            plan["steps"].as_array_mut().unwrap().iter_mut().for_each(|step| drop(step["step_id"].take()));
        }
        message
    };
    conversation["messages"].as_array().unwrap().iter().map(without).collect()
}

/// Asks the same question in two conversations. Fails unless the model receives the same prompt for both.
async fn assert_same_prompt(app: &TestApp, model: &MockLlm, conversations: [&str; 2]) {
    let mut prompts = Vec::new();
    for conversation in conversations {
        model.reply([text("Four.")]);
        app.send(conversation, "And one more?").await.all().await;
        prompts.push(model.requests().pop().unwrap().body["messages"].clone());
    }
    assert_eq!(prompts[0], prompts[1]);
    model.assert_calls_paired();
}

on_every_engine! {
    async fn a_fork_has_the_branch_up_to_the_answer(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let file = ask_with_file(&app, &model, &conversation).await;
        let before = app.conversation(&conversation).await;
        let answer = &before["messages"][1];
        let call = &answer["tool_calls"][0];
        model.reply([text("Later.")]);
        app.send(&conversation, "Anything else?").await.all().await;
        let whole = app.conversation(&conversation).await;

        let copy = fork(&app, &conversation, &answer["id"]).await;
        let fork = app.conversation(&copy).await;
        assert_eq!(fork["title"], whole["title"]);
        assert_eq!(comparable(&fork), comparable(&before));
        assert_eq!(app.conversation(&conversation).await, whole, "the original stays as it is");
        let copied = &fork["messages"][1];
        assert_eq!(copied["reasoning"][0]["text"], "One call.");
        assert_eq!(fork["messages"][0]["files"][0]["id"], file["id"], "the file is shared, not copied");
        assert!(copied.get("usage").is_none(), "{copied}");
        let id = copied["tool_calls"][0]["tool_call_id"].as_i64().unwrap();
        assert!(id < 0, "{id}");
        let found = app.get_json(&format!("/api/tool-calls/{id}")).await;
        assert_eq!((&found["input"], &found["output"]), (&call["input"], &call["output"]), "{found}");

        // The list has both, and a search finds the same in both.
        let list = app.get_json("/api/conversations").await;
        assert_eq!(list["items"].as_array().unwrap().len(), 2);
        let hits = app.get_json("/api/search?query=add").await;
        let of = |uuid: &str| {
            let hits = hits["items"].as_array().unwrap().iter().filter(|hit| hit["conversation_uuid"] == json!(uuid));
            let mut found: Vec<_> = hits.map(|hit| format!("{} {}", hit["tool_name"], hit["snippet"])).collect();
            found.sort_unstable();
            found
        };
        assert_eq!((of(&copy).len(), of(&copy)), (2, of(&conversation)), "the text and the call");
        let in_fork = app.get_json(&format!("/api/conversations/{copy}/search?query=%22b%22")).await;
        let hits = in_fork["items"].as_array().unwrap();
        assert!(hits.len() == 1 && hits[0]["tool_call_id"] == id, "{in_fork}");
        let export = app.get(&format!("/api/conversations/{copy}/export?format=json")).await.text().await.unwrap();
        assert!(export.contains("It is 3.") && export.contains(r#"{"b": 2, "a":1}"#), "{export}");
    }

    async fn the_model_receives_the_same_history_in_a_fork_and_in_a_fork_of_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        ask_with_file(&app, &model, &conversation).await;
        let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let first = fork(&app, &conversation, &answer).await;
        let answer = app.conversation(&first).await["messages"][1]["id"].clone();
        let second = fork(&app, &first, &answer).await;
        assert_same_prompt(&app, &model, [&conversation, &first]).await;
        let prompt = model.requests().pop().unwrap().body_text;
        assert!(prompt.contains("tool_use") && prompt.contains("tool_result") && prompt.contains("Herons eat fish."), "{prompt}");
        model.reply([text("Four.")]);
        app.send(&second, "And one more?").await.all().await;
        assert_eq!(model.requests().pop().unwrap().body["messages"], serde_json::from_str::<Value>(&prompt).unwrap()["messages"]);
        // Calls of the original, a file and a later answer are not mixed up.
        let messages = app.conversation(&second).await["messages"].clone();
        assert_eq!(messages.as_array().unwrap().len(), 4);
        assert_eq!(messages[1]["tool_calls"].as_array().unwrap().len(), 1);
    }

    async fn a_fork_keeps_plans_and_the_record_of_the_context(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Hello.")]);
        app.send(&conversation, "Hello?").await.all().await;
        for reply in [plan(&["Add 1 and 2."]), LONG.to_owned(), "It is 3.".to_owned()] {
            model.reply([text(reply)]);
        }
        let body = json!({"content": "1 + 2?", "mode": "plan"});
        EventReader::new(app.post(&format!("/api/conversations/{conversation}/messages"), body).await).all().await;
        let messages = app.conversation(&conversation).await["messages"].clone();
        let [hello, question, answer] = [1, 2, 3].map(|at| messages[at]["id"].as_i64().unwrap());
        execute!(app, AssertSqlSafe(format!(
            "INSERT INTO conversation_summaries (conversation_id, message_id, summary, model, created_at) \
             SELECT conversation_id, id, 'They greet.', 'm', created_at FROM messages WHERE id = {hello}"
        )));
        let summary = rows!(app, (i64,), "SELECT id FROM conversation_summaries")[0].0;
        execute!(app, AssertSqlSafe(format!(
            "UPDATE messages SET told_from = {question}, summary_id = {summary} WHERE id = {answer}"
        )));
        let copy = fork(&app, &conversation, &json!(answer)).await;
        let [original, fork] = [app.conversation(&conversation).await, app.conversation(&copy).await];
        let context = |conversation: &Value| conversation["messages"][3]["told"].clone();
        assert_eq!(context(&fork), json!({"from": fork["messages"][2]["id"], "summary": "They greet."}));
        assert_eq!(fork["messages"][3]["plan"]["steps"][0]["instruction"], "Add 1 and 2.");
        let without_context = |conversation: &Value| {
            let mut messages = comparable(conversation);
            messages[3]["told"].take();
            messages
        };
        assert_eq!(without_context(&fork), without_context(&original));
        assert_same_prompt(&app, &model, [&conversation, &copy]).await;
    }

    /// The calls ran once, and the copies of their answers are not rated, used or replayed.
    async fn nothing_counts_a_copied_call(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        ask_with_file(&app, &model, &conversation).await;
        let answer = app.conversation(&conversation).await["messages"][1].clone();
        let rate = app.client.put(app.url(&format!("/api/conversations/{conversation}/messages/{}/feedback", answer["id"])));
        assert_eq!(rate.json(&json!({"rating": "up"})).send().await.unwrap().status(), StatusCode::OK);
        let counted = rows!(app, (i64, i64, i64, i64, i64), COUNTED);
        assert_eq!((counted[0].0, counted[0].1, counted[0].2), (1, 1, 2));
        let calls = app.get("/admin").await.text().await.unwrap();
        let rows_of_add = calls.matches("<code>add</code>").count();
        assert!(rows_of_add > 0, "{calls}");
        let used = app.get_json("/api/me").await["this_month"].clone();
        assert!(!used.is_null());

        let copy = fork(&app, &conversation, &answer["id"]).await;
        let message = app.conversation(&copy).await["messages"][1].clone();
        fork(&app, &copy, &message["id"]).await;
        assert_eq!(rows!(app, (i64, i64, i64, i64, i64), COUNTED), counted);
        assert_eq!(app.get_json("/api/me").await["this_month"], used);
        assert_eq!(app.get_json(&format!("/api/conversations/{copy}/usage")).await["items"], json!([]));
        assert!(message.get("feedback").is_none(), "{message}");
        let playback = format!("/api/conversations/{copy}/messages/{}/playback", message["id"]);
        assert_eq!(app.get_json(&playback).await["items"], json!([]));

        // The tool history shows the copy with a link to the call that ran.
        let original = &answer["tool_calls"][0]["tool_call_id"];
        let page = app.get(&format!("/admin/conversations/{copy}")).await.text().await.unwrap();
        assert!(page.contains("These calls ran in another conversation") && page.contains(&format!("\"/admin/calls/{original}\"")), "{page}");
        let calls = app.get("/admin").await.text().await.unwrap();
        assert_eq!(calls.matches("<code>add</code>").count(), rows_of_add, "{calls}");
        // A decision on a copied call, and a page of it for admins, do not exist.
        let id = &message["tool_calls"][0]["tool_call_id"];
        let decision = app.post(&format!("/api/tool-calls/{id}/decision"), json!({"decision": "approve"})).await;
        assert_problem(decision, 404, "no-such-tool-call").await;
        assert_eq!(app.get(&format!("/admin/calls/{id}")).await.status(), StatusCode::NOT_FOUND);
    }

    /// Whichever of the two is deleted and purged, the other one stays complete, with its files.
    async fn the_original_and_the_fork_outlast_each_other(engine: Engine) {
        let (mock, model) = (MockMcp::start(&[Fault::RepeatsContent]).await.unwrap(), MockLlm::start().await.unwrap());
        let servers = json!({"mcpServers": {"mock": {"url": mock.url(), "risk": "low"}}});
        let builder = TestApp::builder(&engine).with_mock(&model);
        let builder = builder.with_tool_servers(read_servers_file(&servers.to_string()).unwrap());
        let app = builder.with_settings(|settings| settings.retention_days = 0.0).spawn().await;
        let is_connected = async || app.get_json("/api/tools").await["servers"][0]["status"] == "connected";
        eventually("the tool server is connected", is_connected).await;
        for is_original_deleted in [true, false] {
            let conversation = app.create_conversation().await;
            let image = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, PNG);
            let content = json!({"content": [{"type": "image", "mimeType": "image/png", "data": image}]});
            model.reply([tool_call("mock__content", content.to_string())]);
            model.reply([text("A heron.")]);
            app.send(&conversation, "Look").await.all().await;
            let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
            let copy = fork(&app, &conversation, &answer).await;
            let (deleted, kept) = if is_original_deleted { (&conversation, &copy) } else { (&copy, &conversation) };
            let before = app.conversation(kept).await;
            app.delete(deleted).await;
            eventually("the deleted one is purged", async || {
                rows!(app, (i64,), "SELECT COUNT(*) FROM conversations") == [(1,)]
            }).await;
            assert_eq!(app.conversation(kept).await, before);
            let call = &before["messages"][1]["tool_calls"][0];
            let file = call["files"][0]["id"].as_str().unwrap();
            assert_eq!(app.get(&format!("/api/files/{file}/content")).await.bytes().await.unwrap(), PNG);
            let found = app.get_json(&format!("/api/tool-calls/{}", call["tool_call_id"])).await;
            assert_eq!((&found["output"], &found["files"]), (&call["output"], &call["files"]), "{found}");
            let archive = app.get(&format!("/api/conversations/{kept}/export?format=zip")).await.bytes().await.unwrap();
            let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
            assert!(archive.by_name("files/01-image.png").is_ok(), "the export contains the image");
            model.reply([text("As before.")]);
            app.send(kept, "And now?").await.all().await;
            let prompt = model.requests().pop().unwrap();
            assert_eq!(images_in(&prompt.body).len(), 1, "{}", prompt.body_text);
            let page = app.get(&format!("/admin/conversations/{kept}")).await;
            assert_eq!(page.status(), StatusCode::OK);
            let check = tokio::task::block_in_place(|| said(&admin(&engine, &model, &["check"])));
            assert!(check.0, "{}", check.1);
            app.delete(kept).await;
            eventually("everything is purged", async || rows!(app, (i64,), LEFT) == [(0,)]).await;
        }
        model.assert_calls_paired();
    }

    async fn only_complete_answers_can_be_forked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (conversation, other) = (app.create_conversation().await, app.create_conversation().await);
        for conversation in [&conversation, &other] {
            model.reply([text("Yes.")]);
            app.send(conversation, "Well?").await.all().await;
        }
        let messages = app.conversation(&conversation).await["messages"].clone();
        assert_problem(try_fork(&app, &conversation, &messages[0]["id"]).await, 422, "invalid-input").await;
        assert_problem(try_fork(&app, &conversation, &json!(999_999)).await, 404, "no-such-message").await;
        assert_problem(try_fork(&app, &other, &messages[1]["id"]).await, 404, "no-such-message").await;
        assert_problem(try_fork(&app, &conversation, &json!("x")).await, 400, "bad-body").await;
        let unknown = "00000000-0000-4000-8000-000000000000";
        assert_problem(try_fork(&app, unknown, &messages[1]["id"]).await, 404, "no-such-conversation").await;

        let gate = model.reply_gated([text("Wait")], [text(" for it.")]);
        let turn = app.send(&conversation, "And?").await;
        gate.reached().await;
        let running = app.conversation(&conversation).await["messages"][3]["id"].clone();
        assert_problem(try_fork(&app, &conversation, &running).await, 409, "turn-running").await;
        // An earlier answer can be forked meanwhile.
        let copy = fork(&app, &conversation, &messages[1]["id"]).await;
        gate.open();
        turn.all().await;
        assert_eq!(app.conversation(&copy).await["messages"].as_array().unwrap().len(), 2);
        fork(&app, &conversation, &running).await;

        execute!(app, AssertSqlSafe(format!("UPDATE messages SET status = 'stopped' WHERE id = {running}")));
        assert_problem(try_fork(&app, &conversation, &running).await, 422, "invalid-input").await;
        app.delete(&other).await;
        let gone = app.conversation(&conversation).await["messages"][1]["id"].clone();
        assert_problem(try_fork(&app, &other, &gone).await, 404, "no-such-conversation").await;
    }

    async fn a_fork_that_is_requested_twice_is_created_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Yes.")]);
        app.send(&conversation, "Well?").await.all().await;
        let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let request = async |id: &str| {
            let body = json!({"message_id": answer, "client_conversation_id": id});
            app.post(&format!("/api/conversations/{conversation}/fork"), body).await
        };
        let uuid_of = async |response: Response| {
            assert_eq!(response.status(), StatusCode::CREATED);
            response.json::<Value>().await.unwrap()["uuid"].as_str().unwrap().to_owned()
        };
        let (one, other) = tokio::join!(request("press-1"), request("press-1"));
        let copy = uuid_of(one).await;
        assert_eq!(uuid_of(other).await, copy);
        assert_eq!(uuid_of(request("press-1").await).await, copy);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM conversations"), [(2,)]);
        assert_ne!(uuid_of(request("press-2").await).await, copy);
        for invalid in ["", "two words", &"x".repeat(65)] {
            assert_problem(request(invalid).await, 422, "invalid-input").await;
        }
        // The ID of a deleted copy is free.
        app.delete(&copy).await;
        assert_ne!(uuid_of(request("press-1").await).await, copy);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM conversations WHERE deleted_at IS NULL"), [(3,)]);
    }

    /// None of the three would exceed the limit without the other two.
    async fn reasoning_plans_and_proposed_inputs_count_toward_the_size_of_a_copy(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        ask_with_file(&app, &model, &conversation).await;
        let answer = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let (large, text) = if engine.url.starts_with("sqlite") {
            ("hex(zeroblob(2097152))", "hex(zeroblob(30000))")
        } else {
            ("REPEAT('x', 4194304)", "REPEAT('x', 60000)")
        };
        let run = async |statement: String| {
            execute!(app, AssertSqlSafe(statement));
        };
        run(format!("INSERT INTO plans (message_id, revision, success_criteria, text_offset, created_at) VALUES ({answer}, 1, 'x', 0, '2026-01-01 00:00:00')")).await;
        let steps = (0..64).map(|step| format!("((SELECT id FROM plans), 1, {step}, {text}, {text}, 'completed', 1)"));
        let steps = steps.collect::<Vec<_>>().join(", ");
        run(format!("INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt) VALUES {steps}")).await;
        for step in 100..108 {
            run(format!("INSERT INTO reasonings (message_id, step, text_offset, calls_before, words, truncated) VALUES ({answer}, {step}, 0, 0, {large}, FALSE)")).await;
        }
        for step in 100..107 {
            run(format!(
                "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, proposed_input_text, status, step, position, text_offset, started_at, completed_at) \
                 VALUES ({answer}, 'x', 'add', '{{}}', '{{}}', {large}, 'success', {step}, 0, 0, '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
            )).await;
        }
        assert_problem(try_fork(&app, &conversation, &answer).await, 422, "too-large-to-copy").await;
        run("DELETE FROM plan_steps WHERE position > 30".to_owned()).await;
        fork(&app, &conversation, &answer).await;
    }

    async fn a_branch_of_too_many_messages_is_not_copied(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Yes.")]);
        app.send(&conversation, "Well?").await.all().await;
        let [(key, head)] = rows!(app, (i64, i64), "SELECT id, head_message_id FROM conversations")[..] else { panic!("there is one") };
        // A chain of 2001 messages, each below the one before.
        for first in (1001..3000).step_by(500) {
            let values = (first..(first + 500).min(3001)).map(|id| {
                let (parent, role) = (if id == 1001 { head } else { id - 1 }, if id % 2 == 1 { "user" } else { "assistant" });
                format!("({id}, {key}, {parent}, '{role}', 'x', 'complete', '2037-01-01 00:00:00', '2037-01-01 00:00:00')")
            });
            let values = values.collect::<Vec<_>>().join(", ");
            let insert = "INSERT INTO messages (id, conversation_id, parent_id, role, content, status, created_at, completed_at)";
            execute!(app, AssertSqlSafe(format!("{insert} VALUES {values}")));
        }
        assert_problem(try_fork(&app, &conversation, &json!(3000)).await, 422, "too-large-to-copy").await;
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM conversations"), [(1,)]);
        let copy = fork(&app, &conversation, &json!(2998)).await;
        let count = rows!(app, (i64,), AssertSqlSafe(format!("SELECT COUNT(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.uuid = '{copy}'")));
        assert_eq!(count, [(2000,)]);
    }
}
