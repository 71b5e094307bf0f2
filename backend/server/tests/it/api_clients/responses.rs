//! Clients of the OpenAI Responses API (`/v1/responses`). Complete responses and their storage are tested here, streams
//! in `responses/streams`, requests that continue a response in `responses/chains`, client tools in
//! `responses/client_tools`, refusals in `responses/refusals`, and a real client in `responses/python`. What both APIs
//! share is tested with chat completions.

mod chains;
mod client_tools;
mod kit;
mod python;
mod refusals;
mod streams;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, text, tool_call};

use self::kit::{ask, asked, offered, whole, words};
use super::{conversation_of, conversations};
use crate::support::{Engine, TestApp, on_every_engine, rows};

on_every_engine! {
    /// The server's tools run, and appear only in the tool history. The client's settings reach the provider. Other
    /// fields of the request are ignored, including tools that OpenAI would run itself.
    async fn a_response_has_the_format_of_the_responses_api(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([tool_call("add", r#"{"a":0.1,"b":0.2}"#)]);
        model.reply([text("It is 0.3.")]);
        let input = json!([
            {"type": "message", "role": "developer", "content": "Be exact."},
            {"role": "user", "content": "Hello"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Good day.", "annotations": [], "logprobs": []}]},
            {"role": "user", "content": [{"type": "input_text", "text": "0.1"}, {"type": "input_text", "text": "+ 0.2?"}]},
        ]);
        let body = asked(input, &json!({
            "instructions": "Be brief.", "max_output_tokens": 70, "temperature": 0.5, "tools": offered(),
            "include": ["reasoning.encrypted_content"], "metadata": {"a": "b"}, "parallel_tool_calls": true,
            "reasoning": {"summary": "auto"}, "truncation": "auto", "user": "u", "prompt_cache_key": "k", "top_p": 0.3,
            "text": {"format": {"type": "text"}, "verbosity": "low"}, "service_tier": "auto", "client_metadata": {"x": "y"},
            "store": null, "stream": null, "background": false, "conversation": null, "prompt": null, "made_up": [],
            "previous_response_id": null, "tool_choice": "auto",
        }));
        let (answer, uuid) = whole(&app, &body).await;
        let stored = app.conversation(&uuid).await;
        let message = &stored["messages"][1];
        let id = &message["id"];
        assert_eq!(answer["id"], format!("resp_{id}"));
        assert_eq!(answer["output"], json!([{
            "type": "message", "id": format!("msg_{id}"), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "It is 0.3.", "annotations": [], "logprobs": []}],
        }]));
        for (field, value) in [
            ("object", json!("response")), ("status", json!("completed")), ("model", json!("test-model")),
            ("error", Value::Null), ("incomplete_details", Value::Null), ("previous_response_id", Value::Null),
            ("store", json!(true)), ("temperature", json!(0.5)), ("max_output_tokens", json!(70)),
            ("tool_choice", json!("auto")), ("parallel_tool_calls", json!(true)),
        ] {
            assert_eq!(answer[field], value, "{field}");
        }
        let usage = &answer["usage"];
        assert_eq!(usage["output_tokens"], message["usage"]["output_tokens"]);
        assert_eq!((&usage["total_tokens"], &usage["output_tokens_details"]["reasoning_tokens"]), (&json!(64), &json!(0)));
        assert!(usage["input_tokens_details"]["cached_tokens"].is_i64() && answer["created_at"].is_i64(), "{answer}");
        assert_eq!(message["tool_calls"][0]["output"], "0.3");
        assert_eq!(stored["messages"][0]["content"], "0.1\n\n+ 0.2?");
        assert_eq!(rows!(app, (String,), "SELECT origin FROM conversations"), [("api".to_owned(),)]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM turn_inputs"), [(0,)]);

        let sent = &model.requests()[0].body;
        assert_eq!((&sent["max_tokens"], &sent["temperature"]), (&json!(70), &json!(0.5)));
        let system: Vec<&str> = sent["system"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(system[1..], ["Be brief.", "Be exact."]);
        let messages: Vec<&str> =
            sent["messages"].as_array().unwrap().iter().map(|part| part["content"][0]["text"].as_str().unwrap()).collect();
        assert_eq!(messages, ["Hello", "Good day.", "0.1\n\n+ 0.2?"]);
        let tools = sent["tools"].to_string();
        assert!(tools.contains("\"look\"") && tools.contains("\"add\"") && !tools.contains("web_search"), "{tools}");
        assert!(!sent.to_string().contains("secret"));

        // `GET` returns the same response, except for fields that only the request contained.
        let found = app.get_json(&format!("/v1/responses/resp_{id}")).await;
        for field in ["id", "object", "status", "model", "output", "usage", "created_at", "store"] {
            assert_eq!(found[field], answer[field], "{field}");
        }
        model.assert_calls_paired();
    }

    /// The conversation is named by the header of chat completions, or by the header in which Codex sends its session.
    async fn the_client_names_its_conversation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut conversations = Vec::new();
        for header in [("Session-Id", "a session"), ("Session-Id", "a session"), ("X-Tallybook-Conversation", "other")] {
            model.reply([text("Yes.")]);
            let response = ask(&app, &[header], &asked("Well?", &json!({"store": false}))).await;
            conversations.push(conversation_of(&response));
            response.text().await.unwrap();
        }
        assert_eq!(conversations[0], conversations[1]);
        assert_ne!(conversations[0], conversations[2]);
        assert_eq!(app.conversation(&conversations[0]).await["messages"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_answer_is_incomplete() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    model.reply(Reply::from([text("Once upon")]).stop_reason("max_tokens"));
    let (answer, _) = whole(&app, &asked("A tale", &json!({}))).await;
    assert_eq!((&answer["status"], words(&answer)), (&json!("incomplete"), "Once upon"));
    assert_eq!(answer["incomplete_details"], json!({"reason": "max_output_tokens"}));
    assert_eq!(answer["output"][0]["status"], "incomplete");
    let found = app.get_json(&format!("/v1/responses/{}", answer["id"].as_str().unwrap())).await;
    assert_eq!(found["incomplete_details"], answer["incomplete_details"]);
}

/// A direct model call, requested by name or as a task, stores nothing, so no later request can continue it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_direct_model_call_stores_nothing() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for (headers, name) in [(&[][..], "test-model:plain"), (&[("X-Tallybook-Task", "title")][..], "test-model")] {
        model.reply([text("A title")]);
        let response = ask(&app, headers, &asked("Title?", &json!({"model": name, "instructions": "Short."}))).await;
        assert!(!response.headers().contains_key("x-tallybook-conversation"));
        let answer: Value = response.json().await.unwrap();
        assert_eq!((words(&answer), &answer["store"], &answer["model"]), ("A title", &json!(false), &json!(name)));
        let sent = model.requests().pop().unwrap().body;
        assert!(sent.get("tools").is_none(), "{sent}");
        assert_eq!(sent["system"][0]["text"], "Short.");
    }
    assert_eq!(conversations(&app).await.len(), 0);
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM responses"), [(0,)]);
}
