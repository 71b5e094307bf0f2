//! Faults that only an Anthropic Messages stream can have.

use serde_json::{Value, json};

use super::{Fault, SUM};
use crate::{Reply, raw, text, tool_call};

pub(crate) const FAULTS: &[Fault] = &[
    ("unknown_types", || {
        let block = json!({"type": "hologram", "text": {"a": 1}});
        let events = [
            json!({"type": "something_new", "delta": 7}),
            json!({"type": "content_block_start", "index": 90, "content_block": block}),
            json!({"type": "content_block_delta", "index": 90, "delta": {"type": "text_delta", "text": "no answer"}}),
            json!({"type": "content_block_stop", "index": 90}),
            json!({"type": "content_block_start", "index": 91, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 91, "delta": {"type": "citations_delta", "citation": {}}}),
            json!({"type": "content_block_delta", "index": 92, "delta": {"type": "text_delta", "text": " Of no block."}}),
            json!({"type": "content_block_stop", "index": 91}),
        ];
        [text("Known."), raw(frames(&events))].into()
    }),
    ("no_input_json_delta", || {
        let block = json!({"type": "tool_use", "id": "toolu_quiet", "name": "add", "input": {}});
        Reply::raw_stream(frames(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]))
    }),
    ("pause_turn", || Reply::from([text("I look around")]).stop_reason("pause_turn")),
    ("repeated_usage", || {
        let usage = |count: u64| json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": count}});
        [text("Counted."), raw(frames(&[usage(5), usage(9), usage(9)]))].into()
    }),
    ("tool_use_without_calls", || Reply::from([text("Well.")]).stop_reason("tool_use")),
    ("end_turn_with_calls", || Reply::from([tool_call("add", SUM)]).stop_reason("end_turn")),
];

fn frames(events: &[Value]) -> String {
    let frames = events.iter().map(|data| {
        let name = data["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {data}\n\n")
    });
    frames.collect::<Vec<_>>().concat()
}
