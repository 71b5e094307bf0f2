//! Writes a scripted reply as an Anthropic Messages event stream. Format:
//! <https://docs.claude.com/en/api/messages-streaming>.

use serde_json::{Value, json};

use crate::{
    script::{Part, PartKind},
    wire::{Action, pieces},
};

/// Returns the complete stream. `number` makes IDs unique during the life of a server.
pub(crate) fn stream(parts: &[Part], stop_reason: Option<&str>, model: &str, number: usize) -> Vec<Action> {
    let mut writer = Writer { actions: Vec::new(), index: 0, number, calls: 0 };
    writer.event(&json!({"type": "message_start", "message": {
        "id": format!("msg_mock_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2, "output_tokens": 1},
    }}));
    writer.event(&json!({"type": "ping"}));
    for Part(part) in parts {
        match part {
            PartKind::EndOfFile => return writer.actions,
            PartKind::Cut => {
                writer.actions.push(Action::Cut);
                return writer.actions;
            }
            other => writer.part(other),
        }
    }
    let natural = if writer.calls > 0 { "tool_use" } else { "end_turn" };
    let stop_reason = stop_reason.unwrap_or(natural);
    writer.event(&json!({"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": 20}}));
    writer.event(&json!({"type": "message_stop"}));
    writer.actions
}

struct Writer {
    actions: Vec<Action>,
    index: usize,
    number: usize,
    calls: usize,
}

impl Writer {
    fn part(&mut self, part: &PartKind) {
        match part {
            PartKind::Text(text) => {
                self.start_block(&json!({"type": "text", "text": ""}));
                for piece in pieces(text, 8) {
                    self.delta(&json!({"type": "text_delta", "text": piece}));
                }
                self.stop_block();
            }
            PartKind::ToolCall { id, name, input_text, closed } => {
                self.calls += 1;
                let id = id.clone().unwrap_or_else(|| format!("toolu_mock_{}_{}", self.number, self.calls));
                self.start_block(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
                self.delta(&json!({"type": "input_json_delta", "partial_json": ""}));
                for piece in pieces(input_text, 12) {
                    self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
                }
                if *closed {
                    self.stop_block();
                }
            }
            PartKind::Thinking { text, signature } => {
                self.start_block(&json!({"type": "thinking", "thinking": "", "signature": ""}));
                for piece in pieces(text, 8) {
                    self.delta(&json!({"type": "thinking_delta", "thinking": piece}));
                }
                self.delta(&json!({"type": "signature_delta", "signature": signature}));
                self.stop_block();
            }
            PartKind::RedactedThinking(data) => {
                self.start_block(&json!({"type": "redacted_thinking", "data": data}));
                self.stop_block();
            }
            PartKind::Raw(bytes) => self.actions.push(Action::Send(bytes.clone())),
            PartKind::Gate(gate) => self.actions.push(Action::Wait(gate.clone())),
            PartKind::EndOfFile | PartKind::Cut => {}
        }
    }

    fn start_block(&mut self, block: &Value) {
        self.event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}));
    }

    fn delta(&mut self, delta: &Value) {
        self.event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
    }

    fn stop_block(&mut self) {
        self.event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
    }

    fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.actions.push(Action::Send(format!("event: {name}\ndata: {data}\n\n").into()));
    }
}

/// Returns an error body in Anthropic's format.
pub(crate) fn error_body(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}
