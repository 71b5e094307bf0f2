//! Tests of requests: complete requests, the tool choice, the token limit, and reasoning that is sent back with its
//! calls.

use std::sync::Arc;

use serde_json::{Value, json};
use tallybook_protocol::ModelInfo;

use super::{
    super::request::{self, Options, TokenLimit},
    call_part, chunk, finish, opaque, read, reasoning,
};
use crate::{
    AssistantBlock, ModelEvent, ModelMessage, ModelRequest, Sampling, ToolCallRequest, ToolChoice, ToolResult,
    quirks::QuirkSet, testing,
};

#[test]
fn reasoning_is_sent_back_in_the_field_it_came_in() {
    let tagged = "<think>\nHm.\n</think>\n\n";
    for (delta, block, sent) in [
        (
            json!({"reasoning_content": "Hm."}),
            json!({"reasoning_content": "Hm."}),
            json!({"reasoning_content": "Hm.", "content": null}),
        ),
        (json!({"reasoning": "Hm."}), json!({"reasoning": "Hm."}), json!({"reasoning": "Hm.", "content": null})),
        (json!({"content": "<think>\nHm.\n</think>"}), json!({"tagged": tagged}), json!({"content": tagged})),
        (
            json!({"content": "<think>Hm.</think>Adding."}),
            json!({"tagged": tagged}),
            json!({"content": format!("{tagged}Adding.")}),
        ),
        (
            json!({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Adding."}]}),
            json!({"part": "Hm."}),
            json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Adding."},
            ]}),
        ),
    ] {
        let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}));
        let (events, _) = read(&[chunk(&delta, None), call, finish("tool_calls")]);
        assert_eq!((reasoning(&events).trim(), opaque(&events)), ("Hm.", block), "{delta}");
        let said = events.into_iter().filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(AssistantBlock::Text { text }),
            ModelEvent::Opaque(json) => Some(AssistantBlock::Opaque { provider: "openai".into(), model: None, json }),
            ModelEvent::ToolCall(call) => Some(AssistantBlock::ToolCall(call)),
            _ => None,
        });
        let messages = vec![ModelMessage::user_text("x"), ModelMessage::Assistant(said.collect())];
        let mut message = wire("localhost", messages, ToolChoice::Auto)["messages"][2].clone();
        let message = message.as_object_mut().unwrap();
        message.remove("tool_calls");
        message.remove("role");
        assert_eq!(Value::from(message.clone()), sent, "{delta}");
    }
}

const OPTIONS: Options = Options {
    max_tokens: 9,
    limit: TokenLimit::Plain,
    temperature: None,
    effort: None,
    thinking_tokens: None,
    web_search: false,
};

fn info() -> ModelInfo {
    ModelInfo { provider: "openai".to_owned(), model: "m".to_owned() }
}

fn wire(host: &str, messages: Vec<ModelMessage>, tool_choice: ToolChoice) -> Value {
    let options = Options { limit: TokenLimit::of(host), ..OPTIONS };
    let tools = Arc::from(vec![testing::add_spec()]);
    let request = ModelRequest {
        system: vec!["Be exact.".to_owned()],
        messages,
        tools,
        tool_choice,
        sampling: Sampling::default(),
        may_search: true,
    };
    serde_json::from_str(&request::body(&info(), &options, &request, &QuirkSet::default()).unwrap()).unwrap()
}

#[test]
fn a_request_whole() {
    let call = |id: &str, input: &str| {
        AssistantBlock::ToolCall(ToolCallRequest {
            id: id.into(),
            name: "add".into(),
            input_text: input.into(),
            written_by: Some(info()),
        })
    };
    let result = |id: &str| ToolResult {
        call_id: id.into(),
        tool_name: "add".into(),
        content: format!("result {id}"),
        is_error: false,
        images: Vec::new(),
    };
    let messages = vec![
        ModelMessage::user_text("1 + 2?"),
        ModelMessage::Assistant(vec![
            AssistantBlock::Opaque {
                provider: "openai".into(),
                model: None,
                json: r#"{"reasoning_content":"hm"}"#.into(),
            },
            call("a", r#"{"b":1.00000000000000000000001, "a":1}"#),
            call("b", "oops"),
        ]),
        ModelMessage::ToolResults(vec![result("b"), result("a")]),
        ModelMessage::Assistant(vec![AssistantBlock::Text { text: "3".into() }]),
        ModelMessage::user_text("and?"),
    ];
    let called = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
    let expected = json!({
        "model": "m", "max_tokens": 9, "stream": true, "stream_options": {"include_usage": true},
        "tools": [{"type": "function",
            "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}],
        "tool_choice": "none",
        "messages": [
            {"role": "system", "content": "Be exact."},
            {"role": "user", "content": "1 + 2?"},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                called("a", r#"{"b":1.00000000000000000000001, "a":1}"#),
                called("b", r#"{"unreadable_arguments":"oops"}"#),
            ]},
            {"role": "tool", "tool_call_id": "a", "name": "add", "content": "result a"},
            {"role": "tool", "tool_call_id": "b", "name": "add", "content": "result b"},
            {"role": "assistant", "content": "3"},
            {"role": "user", "content": "and?"},
        ],
    });
    assert_eq!(wire("localhost", messages, ToolChoice::None), expected);
}

#[test]
fn a_call_can_be_required() {
    for (choice, expected) in [
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("add".to_owned()), json!({"type": "function", "function": {"name": "add"}})),
        (ToolChoice::Auto, Value::Null),
    ] {
        assert_eq!(wire("localhost", vec![ModelMessage::user_text("x")], choice)["tool_choice"], expected);
    }
}

#[test]
fn the_token_limit_is_sent_in_the_servers_field() {
    for (host, field) in [
        ("api.openai.com", "max_completion_tokens"),
        ("my.openai.azure.com", "max_completion_tokens"),
        ("notopenai.com", "max_tokens"),
        ("127.0.0.1", "max_tokens"),
    ] {
        assert_eq!(wire(host, vec![ModelMessage::user_text("x")], ToolChoice::Auto)[field], 9, "{host}");
    }
}
