//! Tests of the Messages API: how the reader handles unusual bodies. `requests` tests how requests are written.

mod requests;

use proptest::prelude::*;
use serde_json::{Value, json};
use tallybook_protocol::Usage;

use super::stream::Reader;
use crate::{
    ModelEvent, StopReason, ToolCallRequest,
    testing::{self, calls, stop_reason},
};

/// Returns the events as frames in the API's form.
fn body(events: &[Value]) -> String {
    let frames = events.iter().map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()));
    frames.collect::<Vec<_>>().concat()
}

fn read(events: &[Value]) -> (Vec<ModelEvent>, Option<String>) {
    testing::read(Reader::new("m"), &[body(events).as_bytes()])
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    let usage = json!({"output_tokens": 7});
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn tool_block(index: u64, input: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": "add", "input": {}});
    let deltas = input.iter().map(|part| delta(index, &json!({"type": "input_json_delta", "partial_json": part})));
    [start(index, &block)].into_iter().chain(deltas).chain([stop(index)]).collect()
}

fn text_block(index: u64, text: &str) -> Vec<Value> {
    vec![
        start(index, &json!({"type": "text", "text": ""})),
        delta(index, &json!({"type": "text_delta", "text": text})),
        stop(index),
    ]
}

/// Returns an answer that contains every kind of block.
fn rich() -> Vec<Value> {
    let usage =
        json!({"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}}), json!({"type": "ping"})];
    events.extend([
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "考え"})),
        json!({"type": "ping"}),
        delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "xyz"})),
        stop(1),
    ]);
    events.extend(text_block(2, "12.5 + 7.25 は🙂"));
    events.extend(tool_block(3, &["", "{\"a\": 0.1000000000000000000001,", " \"b\": 2}"]));
    events.extend(tool_block(4, &[]));
    events.extend(end("tool_use"));
    events
}

#[test]
fn an_answer_with_everything_in_it() {
    let (events, error) = read(&rich());
    assert_eq!(error, None);
    let call = |index: u64, input: &str| {
        ModelEvent::ToolCall(ToolCallRequest {
            id: format!("toolu_{index}"),
            name: "add".to_owned(),
            input_text: input.to_owned(),
            written_by: None,
        })
    };
    let grew = || ModelEvent::ToolCallProgress { name: "add".to_owned(), bytes: 0 };
    let expected = [
        ModelEvent::ReasoningDelta("考え".to_owned()),
        ModelEvent::Opaque(r#"{"signature":"c2ln","thinking":"考え","type":"thinking"}"#.to_owned()),
        ModelEvent::Opaque(r#"{"data":"xyz","type":"redacted_thinking"}"#.to_owned()),
        ModelEvent::TextDelta("12.5 + 7.25 は🙂".to_owned()),
        grew(),
        grew(),
        call(3, r#"{"a": 0.1000000000000000000001, "b": 2}"#),
        call(4, "{}"),
        ModelEvent::Ended {
            stop_reason: StopReason::ToolUse,
            usage: Usage { input_tokens: 12, output_tokens: 7, cached_tokens: 5, ..Usage::default() },
        },
    ];
    assert_eq!(events, expected);
}

#[test]
fn body_split_at_every_byte() {
    for text in [body(&rich()), body(&rich()).replace('\n', "\r\n")] {
        testing::assert_split_anywhere(|| Reader::new("m"), &text);
    }
}

#[test]
fn comments_multi_line_data_and_missing_event_names() {
    let text = ": hello\n\n".to_owned()
        + &body(&text_block(0, "hi")).replace("event: content_block_delta\n", ": comment\n")
        + &body(&end("end_turn")).replace("\"type\":\"message_stop\"", "\ndata: \"type\":\ndata: \"message_stop\"");
    let (events, error) = testing::read(Reader::new("m"), &[text.as_bytes()]);
    assert_eq!((testing::texts(&events).as_str(), error), ("hi", None));
}

#[test]
fn unknown_event_delta_or_block_type() {
    let mut events = vec![
        json!({"type": "something_new", "delta": 7}),
        start(0, &json!({"type": "hologram", "text": {"a": 1}})),
        delta(0, &json!({"type": "text_delta", "text": "not an answer"})),
        stop(0),
        start(1, &json!({"type": "text", "text": "A", "citations": null})),
        delta(1, &json!({"type": "citations_delta", "citation": {}})),
        delta(9, &json!({"type": "text_delta", "text": " of no block "})),
        delta(1, &json!({"type": "text_delta", "text": "B"})),
        stop(1),
    ];
    events.extend(end("end_turn"));
    let (events, error) = read(&events);
    assert_eq!((testing::texts(&events).as_str(), error), ("A of no block B", None));
}

#[test]
fn overloaded_error_after_http_200() {
    let mut events = text_block(0, "half ");
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    events.push(json!({"type": "error", "error": error}));
    let (events, error) = read(&events);
    assert_eq!(testing::texts(&events), "half ");
    assert_eq!(error.unwrap(), "The model provider cannot answer right now (529: Overloaded). Try again in a moment.");
}

#[test]
fn end_of_file_without_message_stop() {
    let mut events = text_block(0, "half");
    assert_eq!(read(&events).1.as_deref(), Some("unfinished"));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "null"}}));
    assert_eq!(read(&events).1.as_deref(), Some("unfinished"));
}

#[test]
fn a_stop_reason_without_message_stop_finishes_an_answer() {
    let events =
        [text_block(0, "Let me see."), tool_block(1, &["{\"a\":1}"]), vec![end("tool_use")[0].clone()]].concat();
    let (events, error) = read(&events);
    assert_eq!(
        (testing::texts(&events).as_str(), calls(&events), error),
        ("Let me see.", vec![("toolu_1", "{\"a\":1}")], None)
    );
    assert_eq!(stop_reason(&events), Some(&StopReason::ToolUse));
}

#[test]
fn a_block_that_is_not_closed_is_not_lost() {
    let open = |mut block: Vec<Value>| {
        block.pop();
        block
    };
    let call = |index: u64| open(tool_block(index, &["{\"a\":", "1}"]));
    let input = "{\"a\":1}";
    let (events, error) = read(&[call(0), call(1), end("tool_use").to_vec()].concat());
    assert_eq!((calls(&events), error), (vec![("toolu_0", input), ("toolu_1", input)], None));
    // A second block with the same index.
    let second = start(0, &json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}));
    let (events, _) = read(&[call(0), vec![second], end("tool_use").to_vec()].concat());
    assert_eq!(calls(&events), [("toolu_0", input), ("toolu_1", input)]);
    let thinking = [
        start(0, &json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})),
        start(1, &json!({"type": "redacted_thinking", "data": "x"})),
    ];
    let (events, _) = read(&[thinking.to_vec(), call(2), end("tool_use").to_vec()].concat());
    let blocks = events.iter().filter(|event| matches!(event, ModelEvent::Opaque(_))).count();
    assert_eq!((blocks, calls(&events)), (2, vec![("toolu_2", input)]));
}

#[test]
fn deltas_of_blocks_that_never_began_are_not_lost() {
    let text = delta(0, &json!({"type": "text_delta", "text": "Let me see."}));
    let thinking = delta(5, &json!({"type": "thinking_delta", "thinking": "Hm."}));
    let input = |index: u64| delta(index, &json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"}));
    let call = start(1, &json!({"type": "tool_use", "id": "a", "name": "add", "input": {}}));
    let (events, error) = read(&[vec![thinking, text, call, input(7)], end("tool_use").to_vec()].concat());
    assert_eq!(
        (testing::texts(&events).as_str(), calls(&events), error),
        ("Let me see.", vec![("a", "{\"a\":1}")], None)
    );
    assert!(events.contains(&ModelEvent::ReasoningDelta("Hm.".to_owned())), "{events:?}");
    // Arguments without a call produce no call.
    let (events, error) = read(&[vec![input(0)], end("end_turn").to_vec()].concat());
    assert_eq!((calls(&events), error), (vec![], None));
}

#[test]
fn a_delta_without_its_kind_or_with_an_object_is_read() {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}});
    let events = [
        start(0, &json!({"type": "thinking", "thinking": ""})),
        delta(0, &json!({"thinking": "Hm."})),
        delta(0, &json!({"signature": "c2ln"})),
        stop(0),
        start(1, &json!({"type": "text", "text": ""})),
        delta(1, &json!({"text": "Well."})),
        delta(1, &json!({"type": "citations_delta", "citation": {"cited_text": "x"}})),
        stop(1),
        start(2, &call),
        delta(2, &json!({"type": "input_json_delta", "partial_json": {"a": 1}})),
        stop(2),
    ];
    let (events, error) = read(&[&events[..], &end("tool_use")].concat());
    assert_eq!(
        (testing::texts(&events).as_str(), calls(&events), error),
        ("Well.", vec![("toolu_1", "{\"a\":1}")], None)
    );
    let thinking = r#"{"signature":"c2ln","thinking":"Hm.","type":"thinking"}"#;
    assert!(events.contains(&ModelEvent::Opaque(thinking.to_owned())), "{events:?}");
    // Each fragment repeats everything before it.
    let (events, _) = read(&[&tool_block(0, &["{\"a\":", "{\"a\":1}"])[..], &end("tool_use")].concat());
    assert_eq!(calls(&events), [("toolu_0", "{\"a\":1}")]);
}

#[test]
fn a_message_start_with_content_is_read() {
    let call = json!({"type": "tool_use", "id": "a", "name": "add", "input": {"a": 1}});
    let content = json!([{"type": "text", "text": "Let me see."}, call]);
    let begin = json!({"type": "message_start", "message": {"content": content, "usage": null}});
    let (events, error) = read(&[vec![begin], end("tool_use").to_vec()].concat());
    assert_eq!(
        (testing::texts(&events).as_str(), calls(&events), error),
        ("Let me see.", vec![("a", "{\"a\":1}")], None)
    );
}

#[test]
fn a_field_of_another_type_does_not_end_the_answer() {
    for odd in [
        json!({"type": "content_block_delta", "index": "0", "delta": {"type": "text_delta", "text": "A"}}),
        json!({"type": "content_block_delta", "index": -1, "delta": {"type": "text_delta", "text": "A"}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "A"}}),
        json!({"type": "content_block_start", "index": null, "content_block": {"type": "text", "text": "A"}}),
    ] {
        let nothing = [
            json!({"type": "message_start", "message": []}),
            json!({"type": "message_start"}),
            start(0, &json!({"type": "text", "text": 0})),
            json!({"type": "content_block_start", "index": 3}),
            json!({"type": "content_block_start", "index": 3, "content_block": [null]}),
            delta(0, &json!([])),
            delta(0, &json!({"type": "text_delta", "text": {}})),
            json!({"type": "message_delta"}),
            json!({"type": "message_delta", "delta": {"stop_reason": 7}, "usage": []}),
            json!({"type": "content_block_stop", "index": {}}),
        ];
        let (events, error) = read(&[nothing.to_vec(), vec![odd.clone()], end("end_turn").to_vec()].concat());
        assert_eq!((testing::texts(&events).as_str(), error), ("A", None), "{odd}");
    }
    let call = start(0, &json!({"type": "tool_use", "id": 7, "name": "add", "input": "{\"a\":1}"}));
    assert_eq!(calls(&read(&[vec![call], end("tool_use").to_vec()].concat()).0), [("7", "{\"a\":1}")]);
    for nothing in ["data: null\n\n", "data: []\n\n", "data: \"x\"\n\n", "data: {}\n\n", "data: [DONE]\n\n"] {
        let text = body(&text_block(0, "A")) + nothing + &body(&end("end_turn"));
        let (events, error) = testing::read(Reader::new("m"), &[text.as_bytes()]);
        assert_eq!((testing::texts(&events).as_str(), error), ("A", None), "{nothing}");
    }
}

#[test]
fn a_last_frame_without_its_empty_line_is_read() {
    let text = body(&[text_block(0, "A"), end("end_turn").to_vec()].concat());
    for text in [text.trim_end().to_owned(), format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"))] {
        let (events, error) = testing::read(Reader::new("m"), &[text.as_bytes()]);
        assert_eq!((testing::texts(&events).as_str(), error), ("A", None), "{text}");
    }
}

#[test]
fn a_frame_that_is_not_json() {
    for bad in
        ["data: {this is not JSON\n\n", "event: content_block_delta\ndata: [\n\n", "event: message_delta\ndata: \n\n"]
    {
        let (events, error) = testing::read(Reader::new("m"), &[(body(&text_block(0, "half")) + bad).as_bytes()]);
        assert_eq!(testing::texts(&events), "half");
        assert!(error.unwrap().starts_with("The model's answer was interrupted"));
    }
}

#[test]
fn tool_input_that_is_not_json_is_passed_on_unchanged() {
    let events = [tool_block(0, &["{\"a\": ", "oops"]), end("tool_use").to_vec()].concat();
    assert_eq!(calls(&read(&events).0), [("toolu_0", "{\"a\": oops")]);
}

#[test]
fn whole_input_in_the_start_of_the_block_keeps_its_digits() {
    let mut text = body(&[start(0, &json!({"type": "tool_use", "id": "t", "name": "add", "input": {}})), stop(0)]);
    text = text.replace("\"input\":{}", "\"input\":{\"a\":1e999999,\"b\":0.10000000000000000000001}");
    text += &body(&end("tool_use"));
    let (events, error) = testing::read(Reader::new("m"), &[text.as_bytes()]);
    assert_eq!((calls(&events), error), (vec![("t", r#"{"a":1e999999,"b":0.10000000000000000000001}"#)], None));
}

#[test]
fn max_tokens_inside_a_tool_block() {
    let cut_off = [tool_block(0, &["{\"a\":1}"]), tool_block(1, &["{\"a\": 1, \"b\""])].concat();
    let closed = [cut_off.clone(), end("max_tokens").to_vec()].concat();
    let unclosed = [cut_off[..cut_off.len() - 1].to_vec(), end("max_tokens").to_vec()].concat();
    for events in [closed, unclosed] {
        let (events, error) = read(&events);
        assert_eq!((calls(&events), error), (vec![("toolu_0", "{\"a\":1}")], None));
        assert_eq!(stop_reason(&events), Some(&StopReason::MaxTokens));
    }
}

#[test]
fn stop_reasons() {
    for (word, reason) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::EndTurn), // without a call
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Pause),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("tired", StopReason::Other("tired".to_owned())),
    ] {
        let events = [text_block(0, "text before it"), end(word).to_vec()].concat();
        assert_eq!(stop_reason(&read(&events).0), Some(&reason), "{word}");
    }
}

#[test]
fn usage_that_repeats_is_replaced_and_nonsense_is_ignored() {
    let usage = |output: Value| json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": output}});
    let events =
        [vec![usage(json!(5)), usage(json!(9)), usage(json!(-1)), usage(json!("x"))], end("end_turn").to_vec()];
    let (events, _) = read(&events.concat());
    let usage = Usage { output_tokens: 7, ..Usage::default() };
    assert_eq!(events, [ModelEvent::Ended { stop_reason: StopReason::EndTurn, usage }]);
}

#[test]
fn too_many_blocks() {
    let events: Vec<Value> = (0..2000).flat_map(|index| text_block(index, "x")).collect();
    assert!(read(&events).1.unwrap().contains("more than 1000 blocks"));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(places in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let text = body(&rich());
        let whole = testing::read(Reader::new("m"), &[text.as_bytes()]);
        prop_assert_eq!(testing::read(Reader::new("m"), &testing::cut(text.as_bytes(), &places)), whole);
    }

    #[test]
    fn nonsense_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), swap in any::<prop::sample::Index>()) {
        let mut text = body(&rich()).into_bytes();
        let at = swap.index(text.len());
        text.splice(at..at, bytes);
        let _ = testing::read(Reader::new("m"), &[&text]);
    }
}
