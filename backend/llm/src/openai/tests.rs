//! Tests of how the Chat Completions reader handles text, and helpers for the tests of this format. Tool calls are
//! tested in `calls`, the ends of answers in `endings`, and requests in `requests`.

mod calls;
mod endings;
mod requests;

use proptest::prelude::*;
use serde_json::{Value, json};
use tallybook_protocol::Usage;

use super::stream::Reader;
use crate::openai::reasoning_tags::UnopenedReasoning;
use crate::{
    ModelEvent, StopReason, ToolCallRequest,
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

/// Returns a reader for a model's first answer.
fn reader() -> Reader {
    Reader::new("m", UnopenedReasoning::default())
}

fn read(parts: &[String]) -> (Vec<ModelEvent>, Option<String>) {
    testing::read(reader(), &[parts.concat().as_bytes()])
}

/// Returns an answer with every kind of content and with interleaved calls.
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
    let (events, error) = testing::read(reader(), &[rich().as_bytes()]);
    assert_eq!(error, None);
    let call = |id: &str, input: &str| {
        ModelEvent::ToolCall(ToolCallRequest {
            id: id.into(),
            name: "add".into(),
            input_text: input.into(),
            written_by: None,
        })
    };
    let grew = || ModelEvent::ToolCallProgress { name: "add".to_owned(), bytes: 0 };
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
        testing::assert_split_anywhere(reader, &text);
    }
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

fn texts(events: &[ModelEvent]) -> (String, Option<&StopReason>) {
    (testing::texts(events), stop_reason(events))
}

fn reasoning(events: &[ModelEvent]) -> String {
    let reasoning = events.iter().map(|event| match event {
        ModelEvent::ReasoningDelta(words) | ModelEvent::TextWasReasoning(words) => words.as_str(),
        _ => "",
    });
    reasoning.collect()
}

fn opaque(events: &[ModelEvent]) -> Value {
    let block = events.iter().find_map(|event| match event {
        ModelEvent::Opaque(block) => serde_json::from_str(block).ok(),
        _ => None,
    });
    block.unwrap_or_default()
}

#[test]
fn a_message_is_read_like_a_delta() {
    let message = |message: &Value, reason: Option<&str>| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}))
    };
    let call = json!({"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}});
    let whole =
        json!({"role": "assistant", "content": "Let me see.", "reasoning_content": "Hm.", "tool_calls": [call]});
    let (events, error) = read(&[message(&whole, Some("tool_calls")), DONE.to_owned()]);
    assert_eq!((texts(&events), error), (("Let me see.".to_owned(), Some(&StopReason::ToolUse)), None));
    assert_eq!((calls(&events), reasoning(&events).as_str()), (vec![("a", "{\"a\":1}")], "Hm."));

    let part = |words: &str| message(&json!({"content": words}), None);
    let empty = chunk(&json!({"role": "assistant", "content": ""}), None);
    let (events, _) = read(&[empty, part("One, "), part("two."), message(&json!({}), Some("stop"))]);
    assert_eq!(testing::texts(&events), "One, two.");
    // After deltas, the message repeats the complete text.
    let (events, _) = read(&[say("One, "), say("two."), message(&json!({"content": "One, two."}), Some("stop"))]);
    assert_eq!(testing::texts(&events), "One, two.");
}

#[test]
fn a_field_of_another_type_does_not_end_the_answer() {
    for odd in [
        json!({"choices": [null, 7, [], "x", {"index": "0", "delta": {"content": "A"}}]}),
        json!({"choices": [{"index": -1, "delta": {"content": "A"}}]}),
        json!({"choices": {"index": 0, "delta": {"content": "A"}}}),
        json!({"choices": [{"delta": {"content": "A", "refusal": 0, "tool_calls": {}, "reasoning": false}}]}),
        json!({"choices": [{"delta": {"content": "A", "tool_calls": [null, 7, []], "function_call": []}}]}),
        json!({"choices": [{"delta": {"content": "A"}, "finish_reason": []}], "usage": []}),
        json!({"id": {}, "choices": [{"delta": {"content": "A", "reasoning_details": {}, "reasoning_content": 1.5}}]}),
    ] {
        let nothing = [json!({"choices": [{"index": 0, "delta": []}]}), json!([]), json!(null), json!(7), json!("x")];
        let frame = |value: &Value| format!("data: {value}\n\n");
        let nothing = nothing.iter().map(frame).collect::<String>();
        let (events, error) = read(&[nothing, frame(&odd), finish("stop"), DONE.to_owned()]);
        assert_eq!((texts(&events), error), (("A".to_owned(), Some(&StopReason::EndTurn)), None), "{odd}");
    }
    let call = call_part(&json!({"index": "0", "id": 7, "function": {"name": "add", "arguments": "{\"a\":1}"}}));
    let rest = call_part(&json!({"index": -1, "id": null, "function": {"name": null, "arguments": null}}));
    let (events, error) = read(&[call, rest, finish("tool_calls")]);
    assert_eq!((calls(&events), error), (vec![("7", "{\"a\":1}")], None));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": "12", "completion_tokens": 7.5}});
    let (events, _) = read(&[finish("stop"), format!("data: {usage}\n\n"), DONE.to_owned()]);
    let Some(ModelEvent::Ended { usage, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!((usage.input_tokens, usage.output_tokens), (12, 0));
}

#[test]
fn tokens_are_counted_wherever_a_server_writes_them() {
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19});
    let with = |key: &str, value: Value| {
        let mut usage = usage.clone();
        usage[key] = value;
        usage
    };
    for (last, cached) in [
        // OpenAI, vLLM and most others: usage in a chunk without choices.
        (json!({"choices": [], "usage": with("prompt_tokens_details", json!({"cached_tokens": 5}))}), 5),
        (json!({"choices": [], "usage": with("prompt_tokens_details", Value::Null)}), 0),
        // DeepSeek.
        (json!({"choices": [], "usage": with("prompt_cache_hit_tokens", json!(5))}), 5),
        // Kimi.
        (json!({"choices": [{"index": 0, "delta": {}, "usage": with("cached_tokens", json!(5))}]}), 5),
        // Groq.
        (json!({"choices": [], "x_groq": {"id": "r", "usage": usage}}), 0),
    ] {
        let (events, error) = read(&[say("Well."), finish("stop"), format!("data: {last}\n\n"), DONE.to_owned()]);
        let Some(ModelEvent::Ended { usage, .. }) = events.last() else { panic!("{events:?} {error:?}") };
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.cached_tokens), (12, 7, cached), "{last}");
    }
}

#[test]
fn content_in_parts_is_read_part_by_part() {
    let parts = |parts: &Value| chunk(&json!({"content": parts}), None);
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}]);
    let mixed =
        json!([{"type": "text", "text": null}, {"type": "text", "text": "One"}, {"type": "text", "text": ", two."}]);
    let (events, error) = read(&[parts(&thinking), parts(&mixed), finish("stop")]);
    assert_eq!((texts(&events), error), (("One, two.".to_owned(), Some(&StopReason::EndTurn)), None));
    assert_eq!((reasoning(&events).as_str(), opaque(&events)), ("Let me see.", json!({"part": "Let me see."})));
    let (events, _) = read(&[parts(&json!([{"type": "refusal", "refusal": "No."}])), finish("stop")]);
    assert_eq!(texts(&events), ("No.".to_owned(), Some(&StopReason::Refusal)));
}

#[test]
fn a_byte_order_mark_is_ignored() {
    for stream in
        [format!("\u{feff}{}{}", say("Well."), finish("stop")), say("Well.").replace("data: ", "data: \u{feff}") + DONE]
    {
        for text in [stream.clone(), stream.replace('\n', "\r\n"), stream.replace('\n', "\r")] {
            let (events, error) = read(&[text]);
            assert_eq!((testing::texts(&events).as_str(), error), ("Well.", None), "{stream:?}");
        }
    }
}

#[test]
fn text_before_a_lone_closing_tag_is_reasoning() {
    let answer = [say("Hm: 1 "), say("< 2.\n</th"), say("ink>\n\nThree."), finish("stop")];
    let habit = UnopenedReasoning::default();
    let read = |answer: &[String]| testing::read(Reader::new("m", habit.clone()), &[answer.concat().as_bytes()]).0;
    let events = read(&answer);
    let delta = |words: &str| ModelEvent::TextDelta(words.to_owned());
    let block = json!({"tagged": "<think>\nHm: 1 < 2.\n</think>\n\n"});
    assert_eq!(
        events[..3],
        [delta("Hm: 1 "), delta("< 2.\n"), ModelEvent::TextWasReasoning("Hm: 1 < 2.\n".to_owned())]
    );
    assert_eq!((events[3].clone(), opaque(&events)), (delta("Three."), block.clone()));
    // From the next answer on, the text is reasoning from the first word.
    let events = read(&answer);
    let reasoning = |words: &str| ModelEvent::ReasoningDelta(words.to_owned());
    assert_eq!(events[..3], [reasoning("Hm: 1 "), reasoning("< 2.\n"), delta("Three.")]);
    assert_eq!(opaque(&events), block);
    // An answer whose reasoning does not end contains no reasoning.
    let events = read(&[say("Three."), finish("stop")]);
    assert_eq!((texts(&events).0.as_str(), opaque(&events)), ("Three.", Value::Null));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(places in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let text = rich();
        let whole = testing::read(reader(), &[text.as_bytes()]);
        prop_assert_eq!(testing::read(reader(), &testing::cut(text.as_bytes(), &places)), whole);
    }

    #[test]
    fn nonsense_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), swap in any::<prop::sample::Index>()) {
        let mut text = rich().into_bytes();
        let at = swap.index(text.len());
        text.splice(at..at, bytes);
        let _ = testing::read(reader(), &[&text]);
    }
}
