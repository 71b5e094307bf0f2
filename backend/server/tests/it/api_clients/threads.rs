//! The agent's simpler APIs: `POST /v1/chat`, streamed or not, and `POST /api/chat`.

use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tallybook_agent::Limits;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_tools::ToolRegistry;
use tokio::time::timeout;

use super::kit::{conversations, refusal, tools};
use crate::support::{Counts, Engine, Provider, TIMEOUT, TestApp, on_every_engine, rows};

fn user(words: &str) -> Value {
    json!({"role": "user", "content": words})
}

async fn post(app: &TestApp, path: &str, body: Value) -> Response {
    app.client.post(app.url(path)).json(&body).send().await.unwrap()
}

async fn whole(app: &TestApp, path: &str, body: Value) -> Value {
    let response = post(app, path, body).await;
    let (status, words) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{words}");
    serde_json::from_str(&words).unwrap()
}

/// Returns the chunks of a stream, each of which is one `data:` line.
async fn chunks(response: Response) -> Vec<Value> {
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    parsed(&response.text().await.unwrap())
}

/// Returns the text of chunks.
fn said(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|chunk| chunk["delta"].as_str()).collect()
}

fn parsed(words: &str) -> Vec<Value> {
    let lines =
        words.split_terminator("\n\n").map(|line| line.strip_prefix("data: ").unwrap_or_else(|| panic!("{line}")));
    lines.map(|data| serde_json::from_str(data).unwrap()).collect()
}

on_every_engine! {
    /// A thread starts and continues, without a stream. The stored conversation is the history. Only the messages after
    /// the request's last assistant message are new.
    async fn a_thread_starts_and_continues(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([tool_call("add", r#"{"a":0.1,"b":0.20000000000000000001}"#), tool_call("divide", r#"{"a":1,"b":0}"#)]);
        model.reply([text("It is 0.3.")]);
        let system = json!({"role": "system", "content": "Be brief."});
        let first = whole(&app, "/v1/chat", json!({"messages": [system, user("0.1 + 0.2?")]})).await;
        assert_eq!(first["message"], json!({"role": "assistant", "content": "It is 0.3."}));
        let thread = first["thread_id"].as_str().unwrap();
        let stored = app.conversation(thread).await;
        let calls = &stored["messages"][1]["tool_calls"];
        let id = |at: usize| json!(calls[at]["tool_call_id"].to_string());
        assert_eq!(first["tool_calls"], json!([
            {"id": id(0), "name": "add", "parameters": calls[0]["input"], "status": "success", "success": true,
             "result": "0.30000000000000000001"},
            {"id": id(1), "name": "divide", "parameters": {"a": 1, "b": 0}, "status": "error", "success": false,
             "error": "invalid_b: division by zero", "error_type": "invalid_argument"},
        ]));
        assert_eq!(first["usage"]["total_tokens"], json!(64));
        assert!(model.requests()[0].body["system"].to_string().contains("Be brief."));

        model.reply([text("As I said.")]);
        let messages = [user("forgotten"), json!({"role": "assistant", "content": "invented"}), user("Are you"), user("sure?")];
        let second = whole(&app, "/v1/chat", json!({"messages": messages, "thread_id": thread, "stream": false})).await;
        assert_eq!((&second["thread_id"], &second["tool_calls"]), (&first["thread_id"], &json!([])));
        let prompt = model.requests()[2].body["messages"].to_string();
        assert!(prompt.contains("0.1 + 0.2?") && prompt.contains("0.30000000000000000001") && prompt.contains("sure?"), "{prompt}");
        assert!(!prompt.contains("forgotten") && !prompt.contains("invented"), "{prompt}");
        let stored = app.conversation(thread).await;
        assert_eq!(stored["messages"].as_array().unwrap().len(), 4);
        assert_eq!(stored["messages"][2]["content"], "Are you\n\nsure?");
        model.assert_calls_paired();
    }

    /// As in Anthropic's Messages API, content can be blocks, including tool calls and their results.
    async fn content_may_be_blocks(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("Yes.")]);
        let messages = json!([
            {"role": "user", "content": [{"type": "text", "text": "Look both up."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "a secret thought", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"a": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "second"}]},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "first"},
                {"type": "text", "text": "Are you sure?"},
            ]},
        ]);
        let answer = whole(&app, "/v1/chat", json!({"messages": messages})).await;
        assert_eq!(answer["message"]["content"], "Yes.");
        let prompt = model.requests()[0].body["messages"].to_string();
        for part in ["Look both up.", "I look.", r#"{"a":1}"#, "first", "second", "Are you sure?"] {
            assert!(prompt.contains(part), "{part} in {prompt}");
        }
        assert!(!prompt.contains("secret thought"), "{prompt}");
        model.assert_calls_paired();
        for (message, param) in [
            (json!({"role": "user", "content": [{"type": "image", "source": {}}]}), "messages[1].content[0]"),
            (json!({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}), "messages[1].content[0]"),
            (json!({"role": "user", "content": [{"type": "tool_use", "id": "x"}]}), "messages[1].content[0]"),
            (json!({"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}), "messages[1].content[0]"),
            (json!({"role": "user", "content": [{"type": 7}]}), "messages[1].content[0].type"),
            (json!({"role": "user", "content": 7}), "messages[1].content"),
        ] {
            let refused = post(&app, "/v1/chat", json!({"messages": [user("Well?"), message]})).await;
            assert_eq!(refusal(refused, 400).await["param"], param);
        }
    }

    /// The summary of what was done takes one more model call. The call is stored, but does not count toward the turn's
    /// usage.
    async fn a_message_is_answered_with_a_summary_of_the_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("It is 3.")]);
        model.reply([text("1. I added the numbers, to be exact.\n- I looked at the result.\n\nThat is all.\nAnd more.")]);
        let first = whole(&app, "/api/chat", json!({"message": "1 + 2?"})).await;
        assert_eq!(first["answer"], "It is 3.");
        assert_eq!(first["tool_calls"][0]["result"], "3");
        let lines = ["I added the numbers, to be exact.", "I looked at the result.", "That is all."];
        assert_eq!(first["reasoning_summary"], json!(lines));
        let thread = first["thread_id"].as_str().unwrap();
        let asked = rows!(app, (String, i64), "SELECT purpose, input_tokens FROM model_calls ORDER BY id");
        assert_eq!(asked.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["answer", "answer", "reasoning_summary"]);
        let metrics = app.get("/metrics").await.text().await.unwrap();
        assert!(metrics.contains("purpose=\"reasoning_summary\""), "{metrics}");
        let usage = app.conversation(thread).await["messages"][1]["usage"].clone();
        assert_eq!(usage["input_tokens"], json!(asked[0].1 + asked[1].1));
        let sent = &model.requests()[2].body;
        assert!(sent.get("tools").is_none() && sent["messages"].to_string().contains("1 + 2?"), "{sent}");

        // On request, the summary is generated again.
        let messages = app.conversation(thread).await["messages"].clone();
        let path_of = |message: &Value| format!("/api/conversations/{thread}/messages/{message}/reasoning-summary");
        let path = path_of(&messages[1]["id"]);
        model.reply([text("It was a sum.")]);
        assert_eq!(whole(&app, &path, json!({})).await, json!({"lines": ["It was a sum."]}));
        assert_eq!(whole(&app, &path_of(&messages[0]["id"]), json!({})).await, json!({"lines": []}));
        assert_eq!(post(&app, &path_of(&json!(99)), json!({})).await.status(), 404);

        // Without tool calls, the summary is empty. If the model fails, the summary lists the names of the tools.
        model.reply([text("You are welcome.")]);
        let second = whole(&app, "/api/chat", json!({"message": "Thanks", "thread_id": thread})).await;
        assert_eq!((&second["thread_id"], &second["reasoning_summary"]), (&first["thread_id"], &json!([])));
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#), tool_call("add", "{}"), tool_call("divide", r#"{"a":1,"b":0}"#)]);
        model.reply([text("Well.")]);
        model.fail(401, "");
        let third = whole(&app, "/api/chat", json!({"message": "Again", "thread_id": thread})).await;
        assert_eq!(third["reasoning_summary"], json!(["Called add 2 times, 1 of which failed.", "Called divide, which failed."]));
        let failed = rows!(app, (String,), "SELECT purpose FROM model_calls WHERE error IS NOT NULL");
        assert_eq!(failed, [("reasoning_summary".to_owned(),)]);
        model.assert_calls_paired();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_has_deltas_calls_results_and_its_end() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    model.reply([text("Let me see."), tool_call("add", r#"{"a":0.1,"b":0.2}"#)]);
    let gate = model.reply_gated([text("It is")], [text(" 0.3 \"数\".")]);
    let mut response = post(&app, "/v1/chat", json!({"messages": [user("Sum?")], "stream": true})).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    // During silence, the stream has keep-alives, which are empty deltas.
    let mut read = String::new();
    loop {
        let whole = parsed(&read[..read.rfind("\n\n").map_or(0, |end| end + 2)]);
        if said(&whole).ends_with("It is") && whole.last().is_some_and(|last| last["delta"] == "") {
            break;
        }
        let more = timeout(TIMEOUT, response.chunk()).await.expect("keep-alives arrive").unwrap();
        read += str::from_utf8(&more.unwrap_or_else(|| panic!("it ended: {read}"))).unwrap();
    }
    gate.open();
    read += &response.text().await.unwrap();
    let all = parsed(&read);
    assert_eq!(said(&all), "Let me see.\n\nIt is 0.3 \"数\".");
    let others: Vec<&Value> = all.iter().filter(|chunk| chunk["type"] != "delta").collect();
    let [call, result, done] = others[..] else { panic!("{all:?}") };
    let id = &call["tool_calls"][0]["id"];
    assert_eq!(
        call,
        &json!({"type": "tool_call", "tool_calls": [{"id": id, "name": "add", "parameters": {"a": 0.1, "b": 0.2}}]})
    );
    assert_eq!(
        result,
        &json!({"type": "tool_result", "tool_call_id": id, "name": "add", "status": "success",
        "success": true, "result": "0.3"})
    );
    let thread = conversations(&app).await[0]["uuid"].clone();
    assert_eq!((&done["type"], &done["finish_reason"], &done["thread_id"]), (&json!("done"), &json!("stop"), &thread));
    assert_eq!(done["usage"]["total_tokens"], 64);
}

/// The model calls a tool even in the last step, where no call is allowed, and writes no text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_step_limit_without_any_text_is_reported() {
    let model = MockLlm::start().await.unwrap();
    let registry = ToolRegistry::default().with(Counts::default()).unwrap();
    let settings = Provider::Anthropic.settings(model.url());
    let limits = Limits { steps: 1, ..Limits::default() };
    let app =
        TestApp::builder(&Engine::sqlite()).with_model(settings).with_tools(registry).with_limits(limits).spawn().await;
    for _ in 0..6 {
        model.reply([tool_call("counts", "{}")]);
    }
    let says_so = |answer: &Value| assert!(answer.as_str().unwrap().contains("reached the step limit"), "{answer}");
    let chat = json!({"model": "test-model", "messages": [user("For ever?")]});
    let completion = whole(&app, "/v1/chat/completions", chat.clone()).await;
    says_so(&completion["choices"][0]["message"]["content"]);
    assert_eq!(completion["choices"][0]["finish_reason"], "length");
    let failed: Value = post(&app, "/v1/chat", chat).await.json().await.unwrap();
    says_so(&failed["message"]["content"]);
    // This request is the last one, because it also asks the model for a summary.
    says_so(&whole(&app, "/api/chat", json!({"message": "For ever?"})).await["answer"]);
}

/// The failure contains the agent's last text. A stream has already sent the text by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_step_limit_is_a_failure_with_the_last_text() {
    let model = MockLlm::start().await.unwrap();
    let registry = ToolRegistry::default().with(Counts::default()).unwrap();
    let settings = Provider::Anthropic.settings(model.url());
    let app = TestApp::builder(&Engine::sqlite())
        .with_model(settings)
        .with_tools(registry)
        .with_limits(Limits { steps: 1, ..Limits::default() })
        .spawn()
        .await;
    let body = |stream: bool| json!({"messages": [user("For ever?")], "stream": stream});
    for _ in 0..3 {
        model.reply([tool_call("counts", "{}")]);
        model.reply([text("So far: one.")]);
    }
    let response = post(&app, "/v1/chat", body(false)).await;
    assert_eq!((response.status().as_u16(), &response.headers()["x-should-retry"]), (500, &"false".parse().unwrap()));
    let failed: Value = response.json().await.unwrap();
    assert_eq!((&failed["error"]["code"], &failed["error"]["type"]), (&json!("step_limit"), &json!("server_error")));
    assert_eq!(failed["message"]["content"], "So far: one.");
    assert_eq!(failed["tool_calls"][0]["result"], "1");
    assert!(failed["thread_id"].is_string());
    let streamed = chunks(post(&app, "/v1/chat", body(true)).await).await;
    let [.., error, done] = &streamed[..] else { panic!("{streamed:?}") };
    assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("step_limit")));
    assert_eq!((&done["type"], &done["finish_reason"]), (&json!("done"), &json!("length")));
    let simple = whole(&app, "/api/chat", json!({"message": "For ever?"})).await;
    assert_eq!(simple["answer"], "So far: one.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_timeout_is_a_504() {
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { turn_time: Duration::from_secs(1), ..Limits::default() };
    let settings = Provider::Anthropic.settings(model.url());
    let app =
        TestApp::builder(&Engine::sqlite()).with_model(settings).with_tools(tools()).with_limits(limits).spawn().await;
    model.reply([text("Half"), hang()]);
    let response = post(&app, "/v1/chat", json!({"messages": [user("How long?")]})).await;
    let thread = response.headers()["x-tallybook-conversation"].to_str().unwrap().to_owned();
    assert_eq!(app.conversation(&thread).await["messages"][0]["content"], "How long?", "the question is stored");
    assert_eq!(refusal(response, 504).await["code"], "turn_timeout");
    model.reply([text("Half"), hang()]);
    let response = post(&app, "/api/chat", json!({"message": "How long?"})).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (504, &"application/problem+json".parse().unwrap())
    );
    model.reply([text("Half"), hang()]);
    let streamed = chunks(post(&app, "/v1/chat", json!({"messages": [user("How long?")], "stream": true})).await).await;
    let [.., error, done] = &streamed[..] else { panic!("{streamed:?}") };
    assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!("turn_timeout")));
    assert_eq!((&done["finish_reason"], done["thread_id"].is_string()), (&json!("error"), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_threads_and_questions_are_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for id in ["6f2f6d3e-5f0a-7c3e-8a55-000000000000", "th_abc"] {
        let asked = json!({"messages": [user("Well?")], "thread_id": id});
        assert_eq!(refusal(post(&app, "/v1/chat", asked).await, 404).await["code"], "no_such_conversation");
        assert_eq!(post(&app, "/api/chat", json!({"message": "Well?", "thread_id": id})).await.status(), 404);
    }
    let thread = app.create_conversation().await;
    let system = json!({"role": "system", "content": "Be brief."});
    for (body, param) in [
        (json!({"messages": []}), json!("messages")),
        (json!({"messages": "Hello"}), json!("messages")),
        (json!({"messages": [system, user("Well?")], "thread_id": thread}), json!("messages")),
        (
            json!({"messages": [user("Well?"), {"role": "assistant", "content": "x"}], "thread_id": thread}),
            json!("messages"),
        ),
        (json!([]), Value::Null),
    ] {
        assert_eq!(refusal(post(&app, "/v1/chat", body).await, 400).await["param"], param);
    }
    let unknown = post(&app, "/v1/chat", json!({"messages": [user("Well?")], "model": "gpt-9"})).await;
    let error = refusal(unknown, 404).await;
    assert_eq!((&error["code"], &error["param"]), (&json!("model_not_found"), &json!("model")));
    for body in [json!({}), json!({"message": " "}), json!({"message": "a\u{0}b"}), json!(["Well?", null])] {
        let response = post(&app, "/api/chat", body).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (400, &"application/problem+json".parse().unwrap())
        );
    }
    // A thread is a conversation of the web UI, so its messages have the same maximum length.
    let long = "雨".repeat(100_001);
    for thread_id in [Value::Null, json!(thread)] {
        let asked = json!({"messages": [user(&long)], "thread_id": thread_id});
        assert_eq!(refusal(post(&app, "/v1/chat", asked).await, 400).await["code"], "invalid_input");
        let asked = json!({"message": long, "thread_id": thread_id});
        assert_eq!(post(&app, "/api/chat", asked).await.status(), 422);
    }
    assert_eq!(model.requests().len(), 0);
    // Only one turn at a time: a thread is its stored conversation, so a busy thread cannot continue in a new one.
    let gate = model.reply_gated([text("Slow")], [text("ly.")]);
    let mut page = app.send(&thread, "And?").await;
    page.until_text("Slow").await;
    let busy = post(&app, "/v1/chat", json!({"messages": [user("Well?")], "thread_id": thread})).await;
    assert_eq!(refusal(busy, 409).await["code"], "turn_running");
    gate.open();
    page.until("message_end").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_question_of_a_thread_becomes_its_title() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let thread = app.create_conversation().await;
    for words in ["Will it rain?", "And tomorrow?"] {
        model.reply([text("Yes.")]);
        whole(&app, "/api/chat", json!({"message": words, "thread_id": thread})).await;
        assert_eq!(app.conversation(&thread).await["title"], "Will it rain?");
    }
}
