//! Chat Completions' faults and accents, each as a body that the reader gets, and what requests look like.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tallybook_protocol::{ModelInfo, Usage};

use super::{
    request::{self, Options, TokenLimit},
    stream::Reader,
};
use crate::{
    AssistantBlock, ModelEvent, ModelMessage, ModelRequest, Sampling, StopReason, ToolCallRequest, ToolChoice,
    ToolResult,
    quirks::QuirkSet,
    testing::{self, calls, stop_reason},
};

const DONE: &str = "data: [DONE]\n\n";

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "choices": choices, "usage": null}))
}

fn say(text: &str) -> String {
    chunk(&json!({"content": text}), None)
}

fn finish(reason: &str) -> String {
    chunk(&json!({}), Some(reason))
}

fn call_part(part: &Value) -> String {
    chunk(&json!({"tool_calls": [part]}), None)
}

fn read(parts: &[String]) -> (Vec<ModelEvent>, Option<String>) {
    testing::read(Reader::new("m"), &[parts.concat().as_bytes()])
}

/// An answer with everything in it, calls interleaved.
fn rich() -> String {
    let part = |index: u64, arguments: &str| call_part(&json!({"index": index, "function": {"arguments": arguments}}));
    let begin = |index: u64, id: &str| {
        call_part(&json!({"index": index, "id": id, "type": "function", "function": {"name": "add", "arguments": ""}}))
    };
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}});
    [
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        chunk(&json!({"role": "assistant", "content": null, "refusal": null}), None),
        chunk(&json!({"reasoning_content": "hm", "reasoning": "hm"}), None),
        say("12.5 は🙂"),
        begin(0, "call_a"),
        begin(1, "call_b"),
        part(1, "{\"a\":"),
        part(0, "{\"a\": 0.1000000000000000000001"),
        part(1, "2}"),
        part(0, "}"),
        finish("tool_calls"),
        format!("data: {}\n\n", json!({"choices": [], "usage": usage, "x": 1})),
        DONE.to_owned(),
    ]
    .concat()
}

#[test]
fn interleaved_calls_comments_reasoning_and_the_usage_chunk() {
    let (events, error) = testing::read(Reader::new("m"), &[rich().as_bytes()]);
    assert_eq!(error, None);
    let call = |id: &str, input: &str| {
        ModelEvent::ToolCall(ToolCallRequest {
            id: id.into(),
            name: "add".into(),
            input_text: input.into(),
            written_by: None,
        })
    };
    let grew = || ModelEvent::CallGrew { name: "add".to_owned(), bytes: 0 };
    let expected = [
        ModelEvent::ReasoningDelta("hm".to_owned()),
        ModelEvent::TextDelta("12.5 は🙂".to_owned()),
        grew(),
        grew(),
        ModelEvent::Opaque(r#"{"reasoning_content":"hm"}"#.to_owned()),
        call("call_a", "{\"a\": 0.1000000000000000000001}"),
        call("call_b", "{\"a\":2}"),
        ModelEvent::Ended {
            stop_reason: StopReason::ToolUse,
            usage: Usage { input_tokens: 12, output_tokens: 7, cached_tokens: 5, ..Usage::default() },
        },
    ];
    assert_eq!(events, expected);
}

#[test]
fn body_split_at_every_byte() {
    for text in [rich(), rich().replace('\n', "\r\n")] {
        testing::assert_split_anywhere(|| Reader::new("m"), &text);
    }
}

#[test]
fn a_missing_or_null_call_id_is_minted() {
    let call = |id: Value, index: u64| {
        call_part(&json!({"index": index, "id": id, "function": {"name": "add", "arguments": "{}"}}))
    };
    let (events, error) = read(&[call(Value::Null, 0), call(json!(""), 1), finish("tool_calls"), DONE.to_owned()]);
    let calls = calls(&events);
    assert_eq!((calls.len(), error), (2, None));
    assert!(calls[0].0.starts_with("call_") && calls[0].0 != calls[1].0, "{calls:?}");
}

#[test]
fn a_whole_call_in_one_chunk_and_arguments_as_an_object() {
    let text = call_part(&json!({"id": "a", "function": {"name": "add", "arguments": {"a": "HERE"}}}))
        .replace("\"HERE\"", "0.10000000000000000000001");
    let (events, _) = read(&[text, finish("tool_calls"), DONE.to_owned()]);
    assert_eq!(calls(&events), [("a", "{\"a\":0.10000000000000000000001}")]);
}

#[test]
fn calls_without_an_index_or_all_under_index_0_are_kept_apart() {
    for index in [Value::Null, json!(0)] {
        let call = |id: &str| {
            call_part(&json!({"index": index, "id": id, "function": {"name": "add", "arguments": "{\"a\":1"}}))
        };
        let rest = call_part(&json!({"index": index, "function": {"arguments": "}"}}));
        let (events, _) = read(&[call("a"), rest.clone(), call("b"), rest, finish("tool_calls")]);
        assert_eq!(calls(&events), [("a", "{\"a\":1}"), ("b", "{\"a\":1}")], "{index}");
    }
}

#[test]
fn an_id_and_name_that_repeat_with_each_fragment() {
    let part = |arguments: &str| {
        call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": arguments}}))
    };
    let (events, _) = read(&[part("{\"a\""), part(":1}"), finish("tool_calls")]);
    assert_eq!(calls(&events), [("a", "{\"a\":1}")]);
}

#[test]
fn finish_reason_stop_although_calls_were_seen() {
    let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}));
    let (events, _) = read(&[call, finish("stop"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![("a", "{}")], Some(&StopReason::ToolUse)));
}

#[test]
fn tool_calls_with_truncated_json() {
    let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"a\": 1"}}));
    // Cut off by the limit of tokens: never given.
    let (events, _) = read(&[call.clone(), finish("length"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![], Some(&StopReason::MaxTokens)));
    // Just wrong: given as it is, and the agent answers with an error.
    let (events, _) = read(&[call, finish("tool_calls"), DONE.to_owned()]);
    assert_eq!(calls(&events), [("a", "{\"a\": 1")]);
}

#[test]
fn no_done_but_a_finish_reason_seen() {
    let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}));
    let (events, error) = read(&[say("hi"), call, finish("tool_calls")]);
    assert_eq!((calls(&events).len(), stop_reason(&events), error), (1, Some(&StopReason::ToolUse), None));
}

#[test]
fn neither_done_nor_a_finish_reason() {
    assert_eq!(read(&[say("half")]).1.as_deref(), Some("unfinished"));
}

#[test]
fn done_without_a_finish_reason() {
    let (events, error) = read(&[say("hi"), DONE.to_owned()]);
    assert_eq!((stop_reason(&events), error), (Some(&StopReason::EndTurn), None));
}

#[test]
fn odd_chunks_are_tolerated() {
    let odd = [
        "data: {}\n\n",
        "data:\n\n",
        "data: {\"choices\":null}\n\n",
        "data: {\"choices\":[{\"index\":0}],\"usage\":7}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"A\"},{\"type\":\"x\"}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":{\"a\":1},\"tool_calls\":null}}]}\n\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another answer\"}}]}\n\n",
        "event: whatever\ndata: {\"choices\":[{\"delta\":{\"content\":\"B\",\"new\":{}},\"finish_reason\":\"\"}]}\n\n",
    ];
    let (events, error) = read(&[odd.concat(), finish("stop")]);
    assert_eq!(
        (testing::texts(&events).as_str(), stop_reason(&events), error),
        ("AB", Some(&StopReason::EndTurn), None)
    );
}

#[test]
fn refusals_are_shown() {
    let refusal = chunk(&json!({"refusal": "I won't."}), None);
    let (events, _) = read(&[refusal, finish("stop")]);
    assert_eq!((testing::texts(&events).as_str(), stop_reason(&events)), ("I won't.", Some(&StopReason::Refusal)));
    assert_eq!(stop_reason(&read(&[finish("content_filter")]).0), Some(&StopReason::Refusal));
}

#[test]
fn errors_inside_the_stream() {
    for (error, words) in [
        (json!({"error": {"code": 502, "message": "Bad gateway"}}), "broke at the model provider (502: Bad gateway)"),
        (json!({"error": {"code": 401, "message": "no"}}), "refused the API key (401: no)"),
        (json!({"error": {"type": "server_error", "message": "Oh"}}), "broke at the model provider (500: Oh)"),
        (json!({"error": {"code": "rate_limit_exceeded", "message": "slow"}}), "right now (429: slow)"),
        (json!({"error": "out of memory"}), "the provider reports: out of memory"),
        (json!({"choices": [{"delta": {}, "finish_reason": "error"}]}), "without saying which"),
    ] {
        let said = read(&[format!("data: {error}\n\n")]).1.unwrap();
        assert!(said.contains(words), "{said}");
    }
    assert!(read(&[say("half"), "data: {not JSON\n\n".to_owned()]).1.unwrap().contains("cannot be read"));
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
fn the_limit_of_tokens_goes_where_the_server_looks_for_it() {
    for (host, field) in [
        ("api.openai.com", "max_completion_tokens"),
        ("my.openai.azure.com", "max_completion_tokens"),
        ("notopenai.com", "max_tokens"),
        ("127.0.0.1", "max_tokens"),
    ] {
        assert_eq!(wire(host, vec![ModelMessage::user_text("x")], ToolChoice::Auto)[field], 9, "{host}");
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(places in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let text = rich();
        let whole = testing::read(Reader::new("m"), &[text.as_bytes()]);
        prop_assert_eq!(testing::read(Reader::new("m"), &testing::cut(text.as_bytes(), &places)), whole);
    }

    #[test]
    fn nonsense_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), swap in any::<prop::sample::Index>()) {
        let mut text = rich().into_bytes();
        let at = swap.index(text.len());
        text.splice(at..at, bytes);
        let _ = testing::read(Reader::new("m"), &[&text]);
    }
}
