//! Tests of requests whose history was written by other models: call IDs, unfinished turns, and argument names.

use std::sync::Arc;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::ModelInfo;

use super::{
    AssistantBlock, ModelEvent, ModelMessage, ModelRequest, PROVIDERS, ProviderKind, ToolCallRequest, ToolResult,
    add_spec, ask, client_of, request,
};

fn call(id: &str, input: &str, written_by: Option<&ModelInfo>) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCallRequest {
        id: id.to_owned(),
        name: "add".to_owned(),
        input_text: input.to_owned(),
        written_by: written_by.cloned(),
    })
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        call_id: id.to_owned(),
        tool_name: "add".to_owned(),
        content: format!("of {id}"),
        is_error: false,
        images: Vec::new(),
    }
}

/// Returns a user message, and a step of two calls with IDs in Kimi's form.
pub(crate) fn two_calls(written_by: Option<&ModelInfo>) -> Vec<ModelMessage> {
    vec![
        ModelMessage::user_text("What is 1 + 2?"),
        ModelMessage::Assistant(vec![
            call("functions.add:0", "{}", written_by),
            call("functions.add:1", "{}", written_by),
        ]),
        ModelMessage::ToolResults(vec![result("functions.add:0"), result("functions.add:1")]),
    ]
}

/// Returns the IDs of the calls and of the results in a request body of either format.
fn sent_ids(body: &Value) -> (Vec<String>, Vec<String>) {
    let id = |value: &Value| value.as_str().map(str::to_owned);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for message in body["messages"].as_array().unwrap() {
        calls.extend(message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| id(&call["id"])));
        results.extend(id(&message["tool_call_id"]));
        for block in message["content"].as_array().into_iter().flatten() {
            calls.extend(id(&block["id"]));
            results.extend(id(&block["tool_use_id"]));
        }
    }
    (calls, results)
}

#[tokio::test]
async fn call_ids_are_unchanged_for_their_model_and_portable_for_others() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let client = client_of(provider, &model);
        let other = ModelInfo { model: "another-model".to_owned(), ..client.info().clone() };
        let elsewhere = ModelInfo { provider: "elsewhere".to_owned(), ..client.info().clone() };
        for (writer, is_own) in
            [(Some(client.info()), true), (Some(&other), false), (Some(&elsewhere), false), (None, false)]
        {
            model.reply([text("3.")]);
            ask(&*client, request(two_calls(writer))).await;
            let (calls, results) = sent_ids(&model.requests().pop().unwrap().body);
            assert_eq!((calls.len(), &calls), (2, &results), "{provider}");
            // Anthropic's format does not allow such IDs, so not even the model that wrote them can get them back.
            if is_own && provider != ProviderKind::Anthropic {
                assert_eq!(calls, ["functions.add:0", "functions.add:1"]);
            } else {
                assert!(
                    calls.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())),
                    "{calls:?}"
                );
                assert_ne!(calls[0], calls[1]);
            }
        }
    }
}

#[tokio::test]
async fn a_question_never_follows_a_tool_message() {
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        model.reply([text("3.")]);
        // The turn failed after the tools had run.
        let messages = [two_calls(None), vec![ModelMessage::user_text("And now?")]].concat();
        ask(&*client_of(provider, &model), request(messages)).await;
        model.assert_calls_paired();
        let body = model.requests().pop().unwrap().body;
        let roles: Vec<&str> =
            body["messages"].as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
        if provider == ProviderKind::Anthropic {
            assert_eq!(roles, ["user", "assistant", "user"]);
        } else {
            assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
            assert_eq!(body["messages"][3]["name"], "add", "Gemini wants it");
        }
    }
}

#[tokio::test]
async fn argument_names_that_anthropic_rejects_are_mapped_and_mapped_back() {
    let schema = json!({
        "type": "object",
        "properties": {"$filter": {"type": "string"}, "_filter": {}, "a b": {"properties": {"user[name]": {}}}},
        "required": ["$filter"],
    });
    let spec = || tallybook_tools::ToolSpec { input_schema: schema.clone(), ..add_spec() };
    let original = r#"{"$filter":1.00000000000000000001,"_filter":2,"a b":{"user[name]":3}}"#;
    let safe = r#"{"_filter_2":1.00000000000000000001,"_filter":2,"a_b":{"user_name_":3}}"#;
    for provider in PROVIDERS {
        let model = MockLlm::start().await.unwrap();
        let client = client_of(provider, &model);
        let messages = vec![
            ModelMessage::user_text("Well?"),
            ModelMessage::Assistant(vec![call("a", original, Some(client.info()))]),
            ModelMessage::ToolResults(vec![result("a")]),
        ];
        let asked = || ModelRequest { tools: Arc::from(vec![spec()]), ..request(messages.clone()) };
        let is_mapped = provider == ProviderKind::Anthropic;
        if !is_mapped {
            // An Anthropic model behind another API.
            model.fail(
                400,
                r#"{"error":{"message":"tools.0: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"}}"#,
            );
        }
        model.reply([tool_call("add", safe)]);
        let (_, events, error) = ask(&*client, asked()).await;
        assert!(error.is_none(), "{error:?}");
        assert!(matches!(&events[0], ModelEvent::ToolCall(call) if call.input_text == original), "{events:?}");
        let sent = model.requests().pop().unwrap();
        assert!(
            !sent.body_text.contains("\"$filter\":") && !sent.body_text.contains("user[name]\":"),
            "{}",
            sent.body_text
        );
        assert!(sent.body_text.contains(&if is_mapped { safe.to_owned() } else { safe.replace('"', "\\\"") }));
    }
}
