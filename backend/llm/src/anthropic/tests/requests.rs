//! Tests of requests: complete requests, cache breakpoints, the tool choice, digits, and reasoning.

use std::sync::Arc;

use serde_json::{Value, json};
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

use super::super::request;
use crate::{
    AssistantBlock, ModelMessage, ModelRequest, ReasoningEffort, Sampling, ToolCallRequest, ToolChoice, ToolResult,
    quirks::QuirkSet, testing::add_spec,
};

const OPTIONS: request::Options =
    request::Options { max_tokens: 9, temperature: None, effort: None, thinking_tokens: None };

fn info() -> ModelInfo {
    ModelInfo { provider: "anthropic".to_owned(), model: "m".to_owned() }
}

fn wire(messages: Vec<ModelMessage>, tools: Vec<ToolSpec>, tool_choice: ToolChoice) -> Value {
    let options = OPTIONS;
    let request = ModelRequest {
        system: vec!["Be exact.".to_owned()],
        messages,
        tools: Arc::from(tools),
        tool_choice,
        sampling: Sampling::default(),
        may_search: true,
    };
    serde_json::from_str(&request::body(&info(), &options, &request, &QuirkSet::default()).unwrap()).unwrap()
}

fn a_step() -> Vec<ModelMessage> {
    let call = |id: &str, input: &str| {
        AssistantBlock::ToolCall(ToolCallRequest {
            id: id.into(),
            name: "add".into(),
            input_text: input.into(),
            written_by: Some(info()),
        })
    };
    let result = |id: &str, is_error| ToolResult {
        call_id: id.into(),
        tool_name: "add".into(),
        content: format!("result {id}"),
        is_error,
        images: Vec::new(),
    };
    vec![
        ModelMessage::user_text("1 + 2?"),
        ModelMessage::Assistant(vec![
            AssistantBlock::Opaque { provider: "anthropic".into(), model: None, json: r#"{"type":"thinking"}"#.into() },
            AssistantBlock::Text { text: "Well.".into() },
            call("a", r#"{"a":1}"#),
            call("b", "oops"),
        ]),
        ModelMessage::ToolResults(vec![result("b", true), result("a", false)]),
        ModelMessage::user_text("and?"),
    ]
}

#[test]
fn a_request_whole() {
    let other = ToolSpec { name: "other".to_owned(), ..add_spec() };
    let request = wire(a_step(), vec![add_spec(), other], ToolChoice::Auto);
    insta::assert_json_snapshot!(request);
}

#[test]
fn cache_breakpoints_mark_system_tools_and_history_at_most_four() {
    let mark = json!({"type": "ephemeral"});
    let after_results = wire(a_step()[..3].to_vec(), vec![add_spec()], ToolChoice::Auto);
    for request in [&after_results, &wire(a_step(), vec![add_spec()], ToolChoice::Auto)] {
        let last = |list: &Value| list.as_array().unwrap().last().unwrap().clone();
        let history = last(&last(&request["messages"])["content"]);
        for block in [&request["system"][0], &last(&request["tools"]), &history] {
            assert_eq!(block["cache_control"], mark, "{block}");
        }
        assert!(request.to_string().matches("cache_control").count() <= 4);
    }
}

#[test]
fn sampling_parameters_are_optional_and_tools_stay_without_tool_choice() {
    let request = wire(a_step(), vec![add_spec()], ToolChoice::None);
    assert_eq!((&request["temperature"], &request["tool_choice"]), (&Value::Null, &json!({"type": "none"})));
    let without = wire(a_step(), vec![], ToolChoice::Auto);
    assert_eq!(without["tools"][0]["name"], "add");
    assert!(wire(vec![ModelMessage::user_text("hi")], vec![], ToolChoice::None).get("tools").is_none());
}

#[test]
fn a_call_can_be_required() {
    for (choice, expected) in [
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("add".to_owned()), json!({"type": "tool", "name": "add"})),
        (ToolChoice::Auto, Value::Null),
    ] {
        assert_eq!(wire(a_step(), vec![add_spec()], choice)["tool_choice"], expected);
    }
}

#[test]
fn digits_of_replayed_arguments_survive() {
    let input = r#"{"b":0.10000000000000000000001,"a":123456789012345678901234567890}"#;
    let call = ToolCallRequest { id: "a".into(), name: "add".into(), input_text: input.into(), written_by: None };
    let request = ModelRequest {
        system: Vec::new(),
        messages: vec![ModelMessage::user_text("x"), ModelMessage::Assistant(vec![AssistantBlock::ToolCall(call)])],
        tools: Arc::from(vec![add_spec()]),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        may_search: true,
    };
    let options = request::Options { temperature: Some(0.5), ..OPTIONS };
    let text = request::body(&info(), &options, &request, &QuirkSet::default()).unwrap();
    assert!(text.contains(input) && text.contains("\"temperature\":0.5") && !text.contains("\"system\""), "{text}");
}

#[test]
fn reasoning_is_requested_by_effort_or_budget_if_the_api_supports_it() {
    let body = |options: &request::Options, tool_choice, max_tokens| -> Value {
        let request = ModelRequest {
            system: Vec::new(),
            messages: vec![ModelMessage::user_text("x")],
            tools: Arc::from(vec![add_spec()]),
            tool_choice,
            sampling: Sampling { max_tokens, ..Sampling::default() },
            may_search: true,
        };
        serde_json::from_str(&request::body(&info(), options, &request, &QuirkSet::default()).unwrap()).unwrap()
    };
    let roomy = request::Options { max_tokens: 9000, temperature: Some(0.5), ..OPTIONS };
    let effort = request::Options { effort: Some(ReasoningEffort::High), ..roomy };
    let sent = body(&effort, ToolChoice::Auto, None);
    assert_eq!(sent["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!((&sent["output_config"], &sent["temperature"]), (&json!({"effort": "high"}), &Value::Null));
    let tokens = request::Options { thinking_tokens: Some(2000), ..roomy };
    let sent = body(&tokens, ToolChoice::Auto, None);
    assert_eq!(sent["thinking"], json!({"type": "enabled", "budget_tokens": 2000}));
    assert_eq!((&sent["output_config"], &sent["temperature"]), (&Value::Null, &Value::Null));
    // If the API would refuse reasoning, the request does not enable it.
    for (options, choice, max_tokens) in [
        (&effort, ToolChoice::Required, None),
        (&tokens, ToolChoice::Auto, Some(2000)),
        (&roomy, ToolChoice::Auto, None),
    ] {
        let sent = body(options, choice, max_tokens);
        assert_eq!((&sent["thinking"], &sent["output_config"]), (&Value::Null, &Value::Null));
        assert_eq!(sent["temperature"], 0.5);
    }
}
