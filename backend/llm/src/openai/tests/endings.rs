//! Tests of the end of an answer: finish reasons, present and missing end marks, refusals, and errors in the stream.

use serde_json::json;

use super::{DONE, call_part, chunk, finish, read, say, texts};
use crate::{
    StopReason,
    testing::{self, calls, stop_reason},
};

#[test]
fn finish_reason_stop_although_calls_were_seen() {
    let call = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}));
    let (events, _) = read(&[call, finish("stop"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![("a", "{}")], Some(&StopReason::ToolUse)));
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
    // A truncated answer may end with an incomplete call.
    let half = call_part(&json!({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"a\": 1"}}));
    let (events, _) = read(&[half, finish("cancelled"), DONE.to_owned()]);
    assert_eq!((calls(&events), stop_reason(&events)), (vec![], Some(&StopReason::Other("cancelled".to_owned()))));
}

#[test]
fn an_empty_finish_reason_counts_as_absent() {
    for word in [json!("null"), json!("None"), json!(""), json!(null), json!(false), json!({}), json!(0)] {
        let chunk =
            format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "half"}, "finish_reason": word}]}));
        let (events, error) = read(&[chunk]);
        assert_eq!((testing::texts(&events).as_str(), error.as_deref()), ("half", Some("unfinished")), "{word}");
    }
    // A later chunk without a reason does not remove the reason.
    let (events, error) = read(&[say("Well."), finish("stop"), finish("null")]);
    assert_eq!((texts(&events), error), (("Well.".to_owned(), Some(&StopReason::EndTurn)), None));
}

#[test]
fn the_last_frame_may_lack_its_empty_line() {
    for end in ["data: [DONE]", "data: [DONE]\n", finish("stop").trim_end(), finish("stop").strip_suffix('\n').unwrap()]
    {
        let (events, error) = read(&[say("Well."), end.to_owned()]);
        assert_eq!((texts(&events), error), (("Well.".to_owned(), Some(&StopReason::EndTurn)), None), "{end}");
    }
    // An incomplete frame is dropped.
    let half = finish("stop");
    let (events, error) = read(&[say("Well."), half[..half.len() - 6].to_owned()]);
    assert_eq!((testing::texts(&events).as_str(), error.as_deref()), ("Well.", Some("unfinished")));
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
        (json!({"error": {"code": 502, "message": "Bad gateway"}}), "has an internal error (502: Bad gateway)"),
        (json!({"error": {"code": 401, "message": "no"}}), "rejected the API key (401: no)"),
        (json!({"error": {"type": "server_error", "message": "Oh"}}), "has an internal error (500: Oh)"),
        (json!({"error": {"code": "rate_limit_exceeded", "message": "slow"}}), "right now (429: slow)"),
        (json!({"error": "out of memory"}), "the provider reports: out of memory"),
        (json!({"choices": [{"delta": {}, "finish_reason": "error"}]}), "an unspecified error"),
    ] {
        let said = read(&[format!("data: {error}\n\n")]).1.unwrap();
        assert!(said.contains(words), "{said}");
    }
    assert!(read(&[say("half"), "data: {not JSON\n\n".to_owned()]).1.unwrap().contains("cannot be parsed"));
}
