//! Tests of tool calls: their fragments, IDs and arguments, in all forms that servers send.

use serde_json::{Value, json};

use super::{DONE, call_part, chunk, finish, read, reader, say};
use crate::{
    StopReason,
    reader::{BodyEnd, Parser},
    testing::{calls, stop_reason},
};

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
fn tool_calls_with_truncated_json() {
    let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"a\": 1"}}));
    // A call that the token limit truncates is dropped.
    let (events, _) = read(&[call.clone(), finish("length"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![], Some(&StopReason::MaxTokens)));
    // Otherwise, invalid arguments are passed on unchanged, and the agent answers with an error.
    let (events, _) = read(&[call, finish("tool_calls"), DONE.to_owned()]);
    assert_eq!(calls(&events), [("a", "{\"a\": 1")]);
}

#[test]
fn repeated_arguments_are_one_object() {
    let part = |arguments: &str| {
        call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": arguments}}))
    };
    for fragments in [
        &["{\"a\":", "1.10}", "{\"a\":1.10}"][..],
        &["{}", "{\"a\":1.10}"],
        &["{}", "{\"a\":", "1.10}"],
        &["{\"a\":1.10}", "{\"a\":1.10}", ""],
        &["\"{\\\"a\\\":1.10}\""],
        &["null", "{\"a\":1.10}"],
        // Each fragment repeats everything before it.
        &["{", "{\"a\":", "{\"a\":1.10}"],
        &["", "{\"a\":1", "{\"a\":1.10}", "{\"a\":1.10}"],
    ] {
        let parts: Vec<String> = fragments.iter().map(|fragment| part(fragment)).collect();
        let (events, _) = read(&[parts.concat(), finish("tool_calls")]);
        assert_eq!(calls(&events), [("a", "{\"a\":1.10}")], "{fragments:?}");
    }
    assert_eq!(calls(&read(&[part("null"), finish("tool_calls")]).0), [("a", "{}")]);
}

#[test]
fn fragments_of_a_call_are_joined_in_every_form() {
    let expected = vec![("a", "{\"a\":1}")];
    let part = |part: Value| call_part(&part);
    for parts in [
        // The ID follows later, with or without the name.
        [
            part(json!({"index": 0, "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"index": 0, "id": "a", "function": {"arguments": ":1}"}})),
        ],
        [
            part(json!({"index": 0, "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": ":1}"}})),
        ],
        // Without an index, and with the name in each fragment.
        [
            part(json!({"id": "a", "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"function": {"name": "add", "arguments": ":1}"}})),
        ],
        // Without the `function` level.
        [
            part(json!({"index": 0, "id": "a", "name": "add", "arguments": "{\"a\""})),
            part(json!({"index": 0, "arguments": ":1}"})),
        ],
    ] {
        let (events, _) = read(&[parts.concat(), finish("tool_calls")]);
        assert_eq!(calls(&events), expected, "{parts:?}");
    }
    // Fragments that only the ID distinguishes.
    let fragment = |id: &str, arguments: &str| part(json!({"id": id, "function": {"arguments": arguments}}));
    let begin = |id: &str| part(json!({"id": id, "function": {"name": "add", "arguments": ""}}));
    let parts = [begin("a"), begin("b"), fragment("a", "{\"a\""), fragment("b", "{\"b\":2}"), fragment("a", ":1}")];
    let (events, _) = read(&[parts.concat(), finish("tool_calls")]);
    assert_eq!(calls(&events), [("a", "{\"a\":1}"), ("b", "{\"b\":2}")]);
    // The older form, alone and together with the newer one.
    let older = |function: Value| chunk(&json!({"function_call": function}), None);
    let parts = [older(json!({"name": "add", "arguments": ""})), older(json!({"arguments": "{\"a\":1}"}))];
    let (events, _) = read(&[parts.concat(), finish("function_call")]);
    assert_eq!(calls(&events).iter().map(|(_, input)| *input).collect::<Vec<_>>(), ["{\"a\":1}"]);
    let function = json!({"name": "add", "arguments": "{\"a\":1}"});
    let both = json!({"tool_calls": [{"index": 0, "id": "a", "function": function}], "function_call": function});
    assert_eq!(calls(&read(&[chunk(&both, None), finish("tool_calls")]).0), expected);
}

#[test]
fn complete_calls_are_an_answer_without_an_end_mark() {
    let call = |arguments: &str| {
        call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": arguments}}))
    };
    let (events, error) = read(&[say("Let me see."), call("{\"a\":1}")]);
    assert_eq!((calls(&events), error), (vec![("a", "{\"a\":1}")], None));
    assert_eq!(stop_reason(&events), Some(&StopReason::ToolUse));
    let nameless = call_part(&json!({"index": 1, "id": "b", "function": {"arguments": "{}"}}));
    let refusal = chunk(&json!({"refusal": "No."}), None);
    let half = call_part(&json!({"index": 1, "id": "b", "function": {"name": "add", "arguments": "{\"a\""}}));
    let error_frame = "data: {\"error\":{\"message\":\"m\"}}\n\n".to_owned();
    for contradiction in [nameless, refusal, half, error_frame] {
        let (events, error) = read(&[call("{\"a\":1}"), contradiction.clone()]);
        assert!(calls(&events).is_empty() && error.is_some(), "{contradiction}");
    }
    for incomplete in ["", "{", "[1]", "7"] {
        assert_eq!(read(&[call(incomplete)]).1.as_deref(), Some("unfinished"), "{incomplete}");
    }
    // If the connection is lost, the calls do not count either.
    let mut parser = Parser::new(reader());
    parser.push(call("{\"a\":1}").as_bytes());
    assert!(!parser.end(BodyEnd::Lost).is_over);
}
