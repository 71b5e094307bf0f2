//! An answer as the Messages API streams it (<https://docs.claude.com/en/api/messages-streaming>), read frame by frame.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tallybook_protocol::{Usage, sse::Frame};

use crate::{
    answer_budget::AnswerBudget,
    error::ModelError,
    event::{ModelEvent, StopReason},
    limits::MAX_BLOCKS,
    pending_call::{PendingCall, finish},
    reader::{StreamReader, bad_stream, parse, tokens, unknown_stop_reason},
    stream_error,
};

/// Reads one answer.
pub(crate) struct Reader {
    model: String,
    /// Blocks begun and not closed, by their index.
    open: BTreeMap<u64, Open>,
    begun: usize,
    /// Whether something of its thinking was shown.
    has_thought: bool,
    calls: Vec<PendingCall>,
    stop_reason: Option<StopReason>,
    usage: Counts,
    budget: AnswerBudget,
}

/// A block that is being written.
enum Open {
    Text,
    Call(PendingCall),
    Thinking {
        thinking: String,
        signature: String,
    },
    /// Complete from the start: `redacted_thinking`.
    Whole(String),
    /// A kind that nobody here knows.
    Unknown,
}

/// Tokens as the provider counts them; input apart from what the cache took and gave.
#[derive(Default)]
struct Counts {
    input: i64,
    cache_written: i64,
    cache_read: i64,
    output: i64,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    content_block: &'a RawValue,
}

#[derive(Deserialize)]
struct StartedCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Reader {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: BTreeMap::new(),
            begun: 0,
            has_thought: false,
            calls: Vec::new(),
            stop_reason: None,
            usage: Counts::default(),
            budget: AnswerBudget::default(),
        }
    }

    fn start_block(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let BlockStart { index, content_block } = parse(data)?;
        self.begun += 1;
        if self.begun > MAX_BLOCKS {
            return Err(bad_stream(format!("it has more than {MAX_BLOCKS} blocks")));
        }
        let raw = content_block.get();
        // Only its kind and its short texts are read this way; a call's input goes untouched below.
        let kind = parse::<Kind>(raw)?.kind;
        let (block, events) = match kind.as_str() {
            "text" => (Open::Text, self.text(parse::<Text>(raw)?.text)?),
            "tool_use" => {
                let mut call = self.started_call(raw)?;
                let growth = call.growth();
                (Open::Call(call), growth.into_iter().collect())
            }
            "thinking" => {
                let Thinking { thinking, signature } = parse(raw)?;
                self.budget.take_nested(&thinking)?;
                self.budget.take_nested(&signature)?;
                // Two thoughts are two paragraphs.
                let gap = if self.has_thought { "\n\n" } else { "" };
                let shown = self.thought(&format!("{gap}{thinking}"));
                (Open::Thinking { thinking, signature }, shown)
            }
            "redacted_thinking" => {
                self.budget.take_nested(raw)?;
                (Open::Whole(raw.to_owned()), vec![])
            }
            _ => (Open::Unknown, vec![]),
        };
        self.open.insert(index, block);
        Ok(events)
    }

    fn started_call(&mut self, raw: &str) -> Result<PendingCall, ModelError> {
        let StartedCall { id, name, input } = parse(raw)?;
        // Some gateways send the whole input here instead of in deltas.
        let input = input.map(RawValue::get).filter(|text| !is_empty_object(text)).unwrap_or_default().to_owned();
        let call = PendingCall { id: id.unwrap_or_default(), name: name.unwrap_or_default(), input, told_bytes: None };
        for text in [&call.id, &call.name, &call.input] {
            self.budget.take(text)?;
        }
        Ok(call)
    }

    fn delta(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let event: Value = parse(data)?;
        let delta = &event["delta"];
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        let block = event["index"].as_u64().and_then(|index| self.open.get_mut(&index));
        match (delta["type"].as_str().unwrap_or_default(), block) {
            ("text_delta", Some(Open::Text)) => return self.text(text("text").to_owned()),
            ("input_json_delta", Some(Open::Call(call))) => {
                self.budget.take(text("partial_json"))?;
                call.input.push_str(text("partial_json"));
                return Ok(call.growth().into_iter().collect());
            }
            ("thinking_delta", Some(Open::Thinking { thinking, .. })) => {
                self.budget.take_nested(text("thinking"))?;
                thinking.push_str(text("thinking"));
                return Ok(self.thought(text("thinking")));
            }
            ("signature_delta", Some(Open::Thinking { signature, .. })) => {
                self.budget.take_nested(text("signature"))?;
                signature.push_str(text("signature"));
            }
            // A kind of delta that is new, or one for a block of a kind that is.
            _ => {}
        }
        Ok(vec![])
    }

    fn text(&mut self, text: String) -> Result<Vec<ModelEvent>, ModelError> {
        self.budget.take(&text)?;
        Ok(if text.is_empty() { vec![] } else { vec![ModelEvent::TextDelta(text)] })
    }

    fn thought(&mut self, text: &str) -> Vec<ModelEvent> {
        self.has_thought |= !text.is_empty();
        if text.is_empty() { vec![] } else { vec![ModelEvent::ReasoningDelta(text.to_owned())] }
    }

    fn stop_block(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let event: Value = parse(data)?;
        Ok(match event["index"].as_u64().and_then(|index| self.open.remove(&index)) {
            Some(Open::Call(call)) => {
                self.calls.push(call);
                vec![]
            }
            Some(Open::Thinking { thinking, signature }) => {
                let block = json!({"type": "thinking", "thinking": thinking, "signature": signature});
                vec![ModelEvent::Opaque(block.to_string())]
            }
            Some(Open::Whole(block)) => vec![ModelEvent::Opaque(block)],
            Some(Open::Text | Open::Unknown) | None => vec![],
        })
    }

    fn message_delta(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let event: Value = parse(data)?;
        if let Some(word) = event["delta"]["stop_reason"].as_str() {
            self.stop_reason = Some(stop_reason(word));
        }
        self.usage.replace(&event["usage"]);
        Ok(vec![])
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        let stop_reason = self.stop_reason.take().unwrap_or(StopReason::EndTurn);
        finish(std::mem::take(&mut self.calls), stop_reason, self.usage.total())
    }
}

impl StreamReader for Reader {
    fn on_frame(&mut self, frame: &Frame) -> Result<Vec<ModelEvent>, ModelError> {
        stream_error::check(frame, &self.model)?;
        let data = &frame.data;
        // The event's name repeats the data's `type`; gateways are known to leave it out.
        let kind = if frame.event == "message" { parse::<Kind>(data)?.kind } else { frame.event.clone() };
        match kind.as_str() {
            "message_start" => {
                let event: Value = parse(data)?;
                self.usage.replace(&event["message"]["usage"]);
                Ok(vec![])
            }
            "content_block_start" => self.start_block(data),
            "content_block_delta" => self.delta(data),
            "content_block_stop" => self.stop_block(data),
            "message_delta" => self.message_delta(data),
            "message_stop" => Ok(self.end()),
            // `ping`, and whatever the API may learn to say.
            _ => Ok(vec![]),
        }
    }

    /// Only `message_stop` finishes an answer.
    fn on_end(&mut self) -> Option<Vec<ModelEvent>> {
        None
    }
}

impl Counts {
    /// Usage that comes again replaces what came before: it counts from the start.
    fn replace(&mut self, usage: &Value) {
        let counts = [
            (&mut self.input, "input_tokens"),
            (&mut self.cache_written, "cache_creation_input_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.output, "output_tokens"),
        ];
        for (count, field) in counts {
            *count = tokens(&usage[field]).unwrap_or(*count);
        }
    }

    fn total(&self) -> Usage {
        let input_tokens = self.input.saturating_add(self.cache_written).saturating_add(self.cache_read);
        Usage { input_tokens, output_tokens: self.output, cached_tokens: self.cache_read, ..Usage::default() }
    }
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Thinking {
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    signature: String,
}

fn is_empty_object(text: &str) -> bool {
    text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|inner| inner.trim().is_empty())
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        // Both mean that the answer is cut off and its last call may be, too.
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        other => unknown_stop_reason(other),
    }
}
