//! Writes a scripted reply as an OpenAI Chat Completions event stream. Format:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.

use serde_json::{Value, json};

use crate::{
    script::{Part, PartKind},
    wire::{Action, pieces},
};

/// Returns the complete stream. `number` makes IDs unique during the life of a server; `with_usage` is the request's
/// `stream_options.include_usage`.
pub(crate) fn stream(
    parts: &[Part],
    stop_reason: Option<&str>,
    model: &str,
    number: usize,
    with_usage: bool,
) -> Vec<Action> {
    let mut writer = Writer { actions: Vec::new(), model: model.to_owned(), number, calls: 0 };
    writer.delta(&json!({"role": "assistant", "content": "", "refusal": null}));
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
    let natural = if writer.calls > 0 { "tool_calls" } else { "stop" };
    let stop_reason = stop_reason.map_or(natural, own_word);
    writer.chunk(&json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": stop_reason}]), &Value::Null);
    if with_usage {
        let usage = json!({"prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32,
            "prompt_tokens_details": {"cached_tokens": 2}});
        writer.chunk(&json!([]), &usage);
    }
    writer.actions.push(Action::Send("data: [DONE]\n\n".into()));
    writer.actions
}

/// Translates Anthropic's word for a stop reason to this format.
fn own_word(stop_reason: &str) -> &str {
    match stop_reason {
        "end_turn" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "refusal" => "content_filter",
        other => other,
    }
}

struct Writer {
    actions: Vec<Action>,
    model: String,
    number: usize,
    calls: usize,
}

impl Writer {
    fn part(&mut self, part: &PartKind) {
        match part {
            PartKind::Text(text) => {
                for piece in pieces(text, 8) {
                    self.delta(&json!({"content": piece}));
                }
            }
            PartKind::ToolCall { id, name, input_text, closed: _ } => {
                let index = self.calls;
                self.calls += 1;
                let id = id.clone().unwrap_or_else(|| format!("call_mock_{}_{}", self.number, self.calls));
                self.delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}}]}));
                for piece in pieces(input_text, 12) {
                    self.delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
                }
            }
            PartKind::Thinking { text, signature: _ } => {
                for piece in pieces(text, 8) {
                    self.delta(&json!({"reasoning_content": piece}));
                }
            }
            PartKind::Raw(bytes) => self.actions.push(Action::Send(bytes.clone())),
            PartKind::Gate(gate) => self.actions.push(Action::Wait(gate.clone())),
            PartKind::RedactedThinking(_) | PartKind::EndOfFile | PartKind::Cut => {}
        }
    }

    fn delta(&mut self, delta: &Value) {
        let choices = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        self.chunk(&choices, &Value::Null);
    }

    fn chunk(&mut self, choices: &Value, usage: &Value) {
        let chunk = json!({"id": format!("chatcmpl-mock-{}", self.number), "object": "chat.completion.chunk",
            "created": 1_750_000_000, "model": self.model, "choices": choices, "usage": usage});
        self.actions.push(Action::Send(format!("data: {chunk}\n\n").into()));
    }
}

/// Returns an error body in OpenAI's format.
pub(crate) fn error_body(kind: &str, message: &str) -> String {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}}).to_string()
}
