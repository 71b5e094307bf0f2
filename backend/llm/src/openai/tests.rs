//! Chat Completions' faults and accents, each as a body that the reader gets, and what requests look like.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tallybook_protocol::{ModelInfo, Usage};

use super::{
    request::{self, Options, TokenLimit},
    stream::Reader,
    thought::ThoughtHabit,
};
use crate::{
    AssistantBlock, ModelEvent, ModelMessage, ModelRequest, Sampling, StopReason, ToolCallRequest, ToolChoice,
    ToolResult,
    quirks::QuirkSet,
    reader::{BodyEnd, Parser},
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

/// A reader of the first answer of a model.
fn reader() -> Reader {
    Reader::new("m", ThoughtHabit::default())
}

fn read(parts: &[String]) -> (Vec<ModelEvent>, Option<String>) {
    testing::read(reader(), &[parts.concat().as_bytes()])
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
        testing::assert_split_anywhere(reader, &text);
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

fn texts(events: &[ModelEvent]) -> (String, Option<&StopReason>) {
    (testing::texts(events), stop_reason(events))
}

fn thoughts(events: &[ModelEvent]) -> String {
    let thoughts = events.iter().map(|event| match event {
        ModelEvent::ReasoningDelta(words) | ModelEvent::TextWasReasoning(words) => words.as_str(),
        _ => "",
    });
    thoughts.collect()
}

fn opaque(events: &[ModelEvent]) -> Value {
    let block = events.iter().find_map(|event| match event {
        ModelEvent::Opaque(block) => serde_json::from_str(block).ok(),
        _ => None,
    });
    block.unwrap_or_default()
}

#[test]
fn an_unknown_finish_reason_is_kept_as_it_is() {
    for (word, expected) in [
        ("stop", StopReason::EndTurn),
        ("STOP", StopReason::EndTurn),
        ("eos_token", StopReason::EndTurn),
        ("model_length", StopReason::MaxTokens),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("insufficient_system_resource", StopReason::Other("insufficient_system_resource".to_owned())),
        ("cancelled", StopReason::Other("cancelled".to_owned())),
        ("tool-calls", StopReason::EndTurn),
        ("endTurn", StopReason::EndTurn),
        ("FinishReason.STOP", StopReason::EndTurn),
        ("maxTokens", StopReason::MaxTokens),
        ("guardrail_intervened", StopReason::Refusal),
        ("MALFORMED_FUNCTION_CALL", StopReason::Other("MALFORMED_FUNCTION_CALL".to_owned())),
        ("network_error", StopReason::Other("network_error".to_owned())),
        ("完了", StopReason::Other("完了".to_owned())),
    ] {
        let (events, error) = read(&[say("Well."), finish(word), DONE.to_owned()]);
        assert_eq!((texts(&events), error), (("Well.".to_owned(), Some(&expected)), None), "{word}");
        assert_eq!(expected.is_cut_off(), matches!(expected, StopReason::MaxTokens | StopReason::Other(_)));
    }
    // What was cut off may have half a call at its end.
    let half = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"a\": 1"}}));
    let (events, _) = read(&[half, finish("cancelled"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![], Some(&StopReason::Other("cancelled".to_owned()))));
}

#[test]
fn a_finish_reason_that_gives_no_reason_is_none() {
    for word in [json!("null"), json!("None"), json!(""), json!(null), json!(false), json!({}), json!(0)] {
        let chunk =
            format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "half"}, "finish_reason": word}]}));
        let (events, error) = read(&[chunk]);
        assert_eq!((testing::texts(&events).as_str(), error.as_deref()), ("half", Some("unfinished")), "{word}");
    }
    // A later chunk may repeat that there is none.
    let (events, error) = read(&[say("Well."), finish("stop"), finish("null")]);
    assert_eq!((texts(&events), error), (("Well.".to_owned(), Some(&StopReason::EndTurn)), None));
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
    assert_eq!((calls(&events), thoughts(&events).as_str()), (vec![("a", "{\"a\":1}")], "Hm."));

    let part = |words: &str| message(&json!({"content": words}), None);
    let empty = chunk(&json!({"role": "assistant", "content": ""}), None);
    let (events, _) = read(&[empty, part("One, "), part("two."), message(&json!({}), Some("stop"))]);
    assert_eq!(testing::texts(&events), "One, two.");
    // After deltas it repeats the whole.
    let (events, _) = read(&[say("One, "), say("two."), message(&json!({"content": "One, two."}), Some("stop"))]);
    assert_eq!(testing::texts(&events), "One, two.");
}

#[test]
fn a_field_of_another_type_ends_no_answer() {
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
        // OpenAI, vLLM and most others: in a chunk without choices.
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
    assert_eq!((thoughts(&events).as_str(), opaque(&events)), ("Let me see.", json!({"part": "Let me see."})));
    let (events, _) = read(&[parts(&json!([{"type": "refusal", "refusal": "No."}])), finish("stop")]);
    assert_eq!(texts(&events), ("No.".to_owned(), Some(&StopReason::Refusal)));
}

#[test]
fn arguments_that_come_again_are_one_object() {
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
        // Each fragment repeats all before it.
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
fn a_call_is_put_together_however_its_fragments_name_it() {
    let expected = vec![("a", "{\"a\":1}")];
    let part = |part: Value| call_part(&part);
    for parts in [
        // The id comes later, alone or with the name.
        [
            part(json!({"index": 0, "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"index": 0, "id": "a", "function": {"arguments": ":1}"}})),
        ],
        [
            part(json!({"index": 0, "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": ":1}"}})),
        ],
        // No index, and the name with each fragment.
        [
            part(json!({"id": "a", "function": {"name": "add", "arguments": "{\"a\""}})),
            part(json!({"function": {"name": "add", "arguments": ":1}"}})),
        ],
        // No level of the function.
        [
            part(json!({"index": 0, "id": "a", "name": "add", "arguments": "{\"a\""})),
            part(json!({"index": 0, "arguments": ":1}"})),
        ],
    ] {
        let (events, _) = read(&[parts.concat(), finish("tool_calls")]);
        assert_eq!(calls(&events), expected, "{parts:?}");
    }
    // Fragments that only an id tells apart.
    let fragment = |id: &str, arguments: &str| part(json!({"id": id, "function": {"arguments": arguments}}));
    let begin = |id: &str| part(json!({"id": id, "function": {"name": "add", "arguments": ""}}));
    let parts = [begin("a"), begin("b"), fragment("a", "{\"a\""), fragment("b", "{\"b\":2}"), fragment("a", ":1}")];
    let (events, _) = read(&[parts.concat(), finish("tool_calls")]);
    assert_eq!(calls(&events), [("a", "{\"a\":1}"), ("b", "{\"b\":2}")]);
    // The older form, alone and beside the newer one.
    let older = |function: Value| chunk(&json!({"function_call": function}), None);
    let parts = [older(json!({"name": "add", "arguments": ""})), older(json!({"arguments": "{\"a\":1}"}))];
    let (events, _) = read(&[parts.concat(), finish("function_call")]);
    assert_eq!(calls(&events).iter().map(|(_, input)| *input).collect::<Vec<_>>(), ["{\"a\":1}"]);
    let function = json!({"name": "add", "arguments": "{\"a\":1}"});
    let both = json!({"tool_calls": [{"index": 0, "id": "a", "function": function}], "function_call": function});
    assert_eq!(calls(&read(&[chunk(&both, None), finish("tool_calls")]).0), expected);
}

#[test]
fn the_last_frame_may_lack_its_empty_line() {
    for end in ["data: [DONE]", "data: [DONE]\n", finish("stop").trim_end(), finish("stop").strip_suffix('\n').unwrap()]
    {
        let (events, error) = read(&[say("Well."), end.to_owned()]);
        assert_eq!((texts(&events), error), (("Well.".to_owned(), Some(&StopReason::EndTurn)), None), "{end}");
    }
    // Half a frame is nothing.
    let half = finish("stop");
    let (events, error) = read(&[say("Well."), half[..half.len() - 6].to_owned()]);
    assert_eq!((testing::texts(&events).as_str(), error.as_deref()), ("Well.", Some("unfinished")));
}

#[test]
fn a_byte_order_mark_begins_no_word() {
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
    // A connection that breaks contradicts, too.
    let mut parser = Parser::new(reader());
    parser.push(call("{\"a\":1}").as_bytes());
    assert!(!parser.end(BodyEnd::Lost).is_over);
}

#[test]
fn text_before_a_lone_closing_tag_is_reasoning() {
    let answer = [say("Hm: 1 "), say("< 2.\n</th"), say("ink>\n\nThree."), finish("stop")];
    let habit = ThoughtHabit::default();
    let read = |answer: &[String]| testing::read(Reader::new("m", habit.clone()), &[answer.concat().as_bytes()]).0;
    let events = read(&answer);
    let delta = |words: &str| ModelEvent::TextDelta(words.to_owned());
    let block = json!({"tagged": "<think>\nHm: 1 < 2.\n</think>\n\n"});
    assert_eq!(
        events[..3],
        [delta("Hm: 1 "), delta("< 2.\n"), ModelEvent::TextWasReasoning("Hm: 1 < 2.\n".to_owned())]
    );
    assert_eq!((events[3].clone(), opaque(&events)), (delta("Three."), block.clone()));
    // From the next answer on it is reasoning from the first word on.
    let events = read(&answer);
    let thought = |words: &str| ModelEvent::ReasoningDelta(words.to_owned());
    assert_eq!(events[..3], [thought("Hm: 1 "), thought("< 2.\n"), delta("Three.")]);
    assert_eq!(opaque(&events), block);
    // An answer that does not end its reasoning has none.
    let events = read(&[say("Three."), finish("stop")]);
    assert_eq!((texts(&events).0.as_str(), opaque(&events)), ("Three.", Value::Null));
}

#[test]
fn reasoning_goes_back_under_the_name_it_came_by() {
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
        assert_eq!((thoughts(&events).trim(), opaque(&events)), ("Hm.", block), "{delta}");
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
