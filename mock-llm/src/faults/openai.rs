//! Faults that only a Chat Completions stream can have.

use serde_json::{Value, json};

use super::{Fault, SUM};
use crate::{Reply, tool_call};

const DONE: &str = "data: [DONE]\n\n";

pub(crate) const FAULTS: &[Fault] = &[
    ("interleaved_calls", || {
        let begin = |index: u64, id: &str| call(&json!({"index": index, "id": id, "function": {"name": "add"}}));
        let part = |index: u64, arguments: &str| call(&json!({"index": index, "function": {"arguments": arguments}}));
        body(&[
            begin(0, "call_a"),
            begin(1, "call_b"),
            part(1, "{\"a\":"),
            part(0, "{\"a\": 0.1000000000000000000001"),
            part(1, "2}"),
            part(0, "}"),
            finish("tool_calls"),
            DONE.to_owned(),
        ])
    }),
    ("no_call_id", || {
        let null = call(&json!({"index": 0, "id": null, "function": {"name": "add", "arguments": SUM}}));
        let missing = call(&json!({"index": 1, "function": {"name": "add", "arguments": SUM}}));
        body(&[null, missing, finish("tool_calls"), DONE.to_owned()])
    }),
    ("call_in_one_chunk", || {
        let whole = json!({"id": "call_a", "type": "function", "function": {"name": "add", "arguments": SUM}});
        body(&[call(&whole), finish("tool_calls"), DONE.to_owned()])
    }),
    ("arguments_as_an_object", || {
        let whole = json!({"id": "call_a", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}});
        body(&[call(&whole), finish("tool_calls"), DONE.to_owned()])
    }),
    ("call_without_a_name", || {
        let nameless = json!({"index": 0, "id": "call_a", "type": "function", "function": {"arguments": SUM}});
        body(&[call(&nameless), finish("tool_calls"), DONE.to_owned()])
    }),
    ("empty_call", || body(&[call(&json!({"index": 0})), say("Hm."), finish("stop"), DONE.to_owned()])),
    ("stop_although_calls", || Reply::from([tool_call("add", SUM)]).stop_reason("stop")),
    ("no_done", || {
        let whole = json!({"index": 0, "id": "call_a", "function": {"name": "add", "arguments": SUM}});
        body(&[say("Let me see."), call(&whole), finish("tool_calls")])
    }),
    ("no_finish_reason", || body(&[say("The beginning of an answer, ")])),
    ("odd_chunks", || {
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "new": {"a": [1]}});
        body(&[
            chunk(&json!([])),
            chunk(&Value::Null),
            chunk(&json!([{"index": 0}])),
            chunk(&json!([{"index": 0, "delta": {}, "finish_reason": null}])),
            chunk(&json!([{"index": 0, "delta": {"content": null, "tool_calls": null, "novelty": {"x": 1}}}])),
            say("Tolerated."),
            finish("stop"),
            format!("data: {}\n\n", json!({"choices": [], "usage": usage, "system_fingerprint": null, "x": 1})),
            DONE.to_owned(),
        ])
    }),
    ("reasoning_details", || {
        let piece = |piece: &Value| chunk(&json!([{"index": 0, "delta": {"reasoning_details": [piece]}}]));
        let text = |words: &str| json!({"type": "reasoning.text", "text": words, "format": "f-1", "index": 0});
        body(&[
            piece(&text("Let me")),
            piece(&text(" think.")),
            piece(&json!({"type": "reasoning.text", "signature": "c2ln", "format": "f-1", "index": 0})),
            piece(&json!({"type": "reasoning.encrypted", "data": "eHl6", "id": "call_a", "index": 1})),
            call(&json!({"index": 0, "id": "call_a", "function": {"name": "add", "arguments": SUM}})),
            finish("tool_calls"),
            DONE.to_owned(),
        ])
    }),
    ("thought_signature", || {
        let signed = |index: u64, id: &str, signature: &str| {
            let extra = json!({"google": {"thought_signature": signature}});
            call(&json!({"index": index, "id": id, "type": "function", "extra_content": extra,
                "function": {"name": "add", "arguments": SUM}}))
        };
        let unsigned =
            json!({"index": 0, "id": "call_b", "type": "function", "function": {"name": "add", "arguments": SUM}});
        body(&[signed(0, "call_a", "c2lnbmVk"), call(&unsigned), finish("stop"), DONE.to_owned()])
    }),
    ("error_chunk", || body(&[format!("data: {}\n\n", json!({"error": {"code": 502, "message": "Bad gateway"}}))])),
];

fn body(chunks: &[String]) -> Reply {
    Reply::raw_stream(chunks.concat())
}

fn chunk(choices: &Value) -> String {
    format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "choices": choices}))
}

fn say(words: &str) -> String {
    chunk(&json!([{"index": 0, "delta": {"content": words}, "finish_reason": null}]))
}

fn call(part: &Value) -> String {
    chunk(&json!([{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": null}]))
}

fn finish(reason: &str) -> String {
    chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]))
}
