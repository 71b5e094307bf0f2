//! API clients that use the agent as a model (`/v1`): complete answers and how they are stored. Tests of other topics:
//! - `api_clients/streams`: streams
//! - `api_clients/client_tools`: the client's own tools
//! - `api_clients/refusals`: requests that are refused
//! - `api_clients/plain`: direct model calls
//! - `api_clients/approvals`: approvals
//! - `api_clients/files`: images and files
//! - `api_clients/responses`, `api_clients/threads`, `api_clients/mcp`: other APIs
//! - `api_clients/python`: a real client
//! - `accounts/programs`: the owners of the conversations

mod approvals;
mod client_tools;
mod files;
mod kit;
mod mcp;
mod plain;
mod python;
mod refusals;
mod responses;
mod streams;
mod threads;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use self::kit::{ask, conversation_of, conversations, question, streamed, tools, words};
use crate::support::{Engine, TestApp, on_every_engine, rows};

on_every_engine! {
    /// The model receives the client's history and system messages. The last question and the answer are stored. The
    /// client's parameters reach the provider.
    async fn an_api_client_gets_a_completion_and_the_answer_is_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([tool_call("add", r#"{"a":0.1,"b":0.2}"#)]);
        model.reply([text("It is 0.3.")]);
        let shown = "<details type=\"tool_calls\" done=\"true\"><summary>add</summary></details>\n";
        let body = json!({
            "model": "test-model", "max_tokens": 900, "max_completion_tokens": 70, "temperature": 1.5, "stop": ["END", " "],
            "top_p": 0.3, "seed": 7, "user": "u", "metadata": {"a": "b"}, "store": true, "reasoning_effort": "low",
            "parallel_tool_calls": false, "frequency_penalty": 1, "made_up": [], "n": 1, "logprobs": false, "tools": null,
            "functions": null, "response_format": {"type": "text"}, "stream": null, "stream_options": null, "audio": null,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello", "name": null},
                {"role": "assistant", "content": format!("{shown}Good day."), "refusal": null, "tool_calls": null},
                {"role": "developer", "content": [{"type": "text", "text": "Be exact."}]},
                {"role": "user", "content": [{"type": "text", "text": "0.1"}, {"type": "text", "text": "+ 0.2?"}]},
            ],
        });
        let response = ask(&app, &[("authorization", "Bearer whatever")], &body).await;
        let uuid = conversation_of(&response);
        let answer: Value = response.json().await.unwrap();
        assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("test-model")));
        let choice = &answer["choices"][0];
        let message = json!({"role": "assistant", "content": "It is 0.3.", "refusal": null});
        assert_eq!((&choice["message"], &choice["finish_reason"]), (&message, &json!("stop")));

        let stored = app.conversation(&uuid).await;
        let messages = stored["messages"].as_array().unwrap();
        assert_eq!((messages.len(), &messages[0]["content"]), (2, &json!("0.1\n\n+ 0.2?")));
        assert_eq!(messages[1]["content"], "It is 0.3.");
        assert_eq!(messages[1]["tool_calls"][0]["output"], "0.3");
        assert_eq!(answer["usage"]["completion_tokens"], messages[1]["usage"]["output_tokens"]);
        assert_eq!(answer["id"], format!("chatcmpl-{}", messages[1]["id"]));
        assert_eq!(conversations(&app).await[0]["title"], "0.1");
        assert_eq!(rows!(app, (String,), "SELECT origin FROM conversations"), [("api".to_owned(),)]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM turn_inputs"), [(0,)], "the client's input is not kept");

        let sent = &model.requests()[0].body;
        assert_eq!((&sent["max_tokens"], &sent["temperature"]), (&json!(70), &json!(1.0)));
        assert_eq!(sent["stop_sequences"], json!(["END"]));
        let system: Vec<&str> = sent["system"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(system[1..], ["Be brief.", "Be exact."]);
        assert!(system[0].starts_with("You are a helpful assistant."), "{}", system[0]);
        let texts: Vec<&str> = sent["messages"].as_array().unwrap().iter().map(|part| part["content"][0]["text"].as_str().unwrap()).collect();
        assert_eq!(texts, ["Hello", "Good day.", "0.1\n\n+ 0.2?"]);
        model.assert_calls_paired();
    }

    /// A refusal in the history counts as the assistant's text, as a field or as a part, in every API.
    async fn a_refusal_in_the_history_is_in_the_prompt(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let part = json!([{"type": "refusal", "refusal": "I decline."}]);
        let (first, last) = (json!({"role": "user", "content": "Help?"}), json!({"role": "user", "content": "Why?"}));
        let by_field = json!([first, {"role": "assistant", "content": null, "refusal": "I decline."}, last]);
        let by_part = json!([first, {"role": "assistant", "content": part}, last]);
        for (path, field, history) in [
            ("/v1/chat/completions", "messages", &by_field),
            ("/v1/chat/completions", "messages", &by_part),
            ("/v1/chat", "messages", &by_field),
            ("/v1/chat", "messages", &by_part),
            ("/v1/responses", "input", &by_part),
        ] {
            model.reply([text("I may not.")]);
            let response = app.post(path, json!({"model": "test-model", "stream": false, field: history})).await;
            assert_eq!(response.status(), 200, "{path}: {}", response.text().await.unwrap());
            let sent = model.requests().last().unwrap().body["messages"].clone();
            let texts: Vec<&str> = sent.as_array().unwrap().iter().map(|it| it["content"][0]["text"].as_str().unwrap()).collect();
            assert_eq!(texts, ["Help?", "I decline.", "Why?"], "{path}");
        }
    }

    /// The client names its conversation by the UUID in an earlier response, or by its own id. A request that cannot
    /// continue there starts a new conversation.
    async fn a_chat_is_one_conversation_unless_it_is_busy(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let own = [("X-OpenWebUI-Chat-Id", "my chat, 数")];
        model.reply([text("One.")]);
        let first = ask(&app, &own, &question("1?")).await;
        let uuid = conversation_of(&first);
        assert_eq!(words(first).await, "One.");
        for (name, value) in [own[0], ("X-Tallybook-Conversation", uuid.as_str())] {
            model.reply([text("More.")]);
            // `X-Tallybook-Conversation` takes precedence over `X-OpenWebUI-Chat-Id`.
            let other = if name == own[0].0 { ("X-Other", "x") } else { ("X-OpenWebUI-Chat-Id", "unknown") };
            let more = ask(&app, &[(name, value), other], &question("2?")).await;
            assert_eq!(conversation_of(&more), uuid, "{name}");
            words(more).await;
        }
        assert_eq!(app.conversation(&uuid).await["messages"].as_array().unwrap().len(), 6);
        // The client supplies the history, and has supplied none.
        assert!(!model.requests()[2].body_text.contains("One."));

        // Two requests at once.
        let gate = model.reply_gated([text("Slow")], [text("ly.")]);
        let mut slow = kit::ChunkReader::new(ask(&app, &own, &streamed("3?")).await);
        slow.until_text("Slow").await;
        model.reply([text("Quickly.")]);
        let quick = ask(&app, &own, &question("4?")).await;
        let second = conversation_of(&quick);
        assert_ne!(second, uuid);
        assert_eq!(words(quick).await, "Quickly.");
        gate.open();
        slow.all().await;
        assert_eq!(slow.text, "Slowly.");
        // The chat id still names the first conversation.
        model.reply([text("Later.")]);
        let later = ask(&app, &own, &question("4?")).await;
        assert_eq!(conversation_of(&later), uuid);
        words(later).await;

        // An unknown id, a conversation from elsewhere and a deleted one are never refused.
        let foreign = app.create_conversation().await;
        app.delete(&second).await;
        for value in [foreign.as_str(), second.as_str(), "no uuid"] {
            model.reply([text("New.")]);
            let new = ask(&app, &[("X-Tallybook-Conversation", value)], &question("5?")).await;
            assert!(![&uuid, &foreign, &second].contains(&&conversation_of(&new)), "{value}");
            words(new).await;
        }
        model.assert_calls_paired();
    }
}

/// The models, each as the agent and as a direct model call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_model_is_listed_as_agent_and_direct_model() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(tools())
        .with_settings(|settings| {
            settings.models[0].name = "team/large".to_owned();
        })
        .spawn()
        .await;
    let list = app.get_json("/v1/models").await;
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!((ids, &list["object"]), (vec!["team/large", "team/large:plain"], &json!("list")));
    for path in ["/v1/models/team/large:plain", "/v1/models/team%2Flarge%3Aplain"] {
        assert_eq!(app.get_json(path).await, list["data"][1], "{path}");
    }
    let unknown = kit::refusal(app.get("/v1/models/other").await, 404).await;
    assert_eq!((&unknown["code"], &unknown["param"]), (&json!("model_not_found"), &json!("model")));
}
