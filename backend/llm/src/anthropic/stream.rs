//! Reads a streamed answer of the Messages API, frame by frame (<https://docs.claude.com/en/api/messages-streaming>).

use std::{borrow::Cow, collections::BTreeMap};

use serde::de::IgnoredAny;
use serde_json::{Value, json, value::RawValue};
use tallybook_protocol::{Usage, sse::Frame};

use crate::{
    error::ModelError,
    event::{ModelEvent, StopReason},
    limits::MAX_BLOCKS,
    object::{self, Object},
    pending_call::{PendingCall, finish, is_empty_object},
    reader::{AnswerBudget, BodyEnd, DONE, StreamReader, bad_stream, parse, tokens},
    stream_error,
};

/// A reader of one answer.
pub(crate) struct Reader {
    model: String,
    /// Blocks that were started but not closed, by index.
    open: BTreeMap<u64, Open>,
    begun: usize,
    /// `true` once some reasoning was shown.
    has_reasoning: bool,
    calls: Vec<PendingCall>,
    stop_reason: Option<StopReason>,
    usage: Counts,
    budget: AnswerBudget,
}

/// A block that is being received.
enum Open {
    Text,
    Call(PendingCall),
    Thinking {
        thinking: String,
        signature: String,
    },
    /// A block that is complete from the start: `redacted_thinking`.
    Whole(String),
    /// A block of an unknown kind.
    Unknown,
}

/// Token counts as the provider reports them. `input` does not include tokens that the cache stored or supplied.
#[derive(Default)]
struct Counts {
    input: i64,
    cache_written: i64,
    cache_read: i64,
    output: i64,
}

impl Reader {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: BTreeMap::new(),
            begun: 0,
            has_reasoning: false,
            calls: Vec::new(),
            stop_reason: None,
            usage: Counts::default(),
            budget: AnswerBudget::default(),
        }
    }

    fn start_block(&mut self, event: &Object<'_>) -> Result<Vec<ModelEvent>, ModelError> {
        let index = event.index("index").unwrap_or_else(|| self.next_index());
        match event.get("content_block") {
            Some(block) => self.open_block(index, block),
            None => Ok(vec![]),
        }
    }

    /// Opens a block at an index. Closes an open block at the same index first.
    fn open_block(&mut self, index: u64, raw: &RawValue) -> Result<Vec<ModelEvent>, ModelError> {
        self.begun += 1;
        if self.begun > MAX_BLOCKS {
            return Err(bad_stream(format!("it has more than {MAX_BLOCKS} blocks")));
        }
        let Some(block) = Object::parse(raw.get()) else { return Ok(vec![]) };
        let mut events = self.close_block(index);
        let open = match block.string("type").as_deref() {
            Some("text") => {
                events.extend(self.text(&block.string("text").unwrap_or_default())?);
                Open::Text
            }
            Some("tool_use") => {
                let mut call = self.started_call(&block)?;
                events.extend(call.growth());
                Open::Call(call)
            }
            Some("thinking") => {
                let thinking = block.string("thinking").unwrap_or_default().into_owned();
                let signature = block.string("signature").unwrap_or_default().into_owned();
                self.budget.take_nested(&thinking)?;
                self.budget.take_nested(&signature)?;
                // Each reasoning block is a paragraph of its own.
                let gap = if self.has_reasoning { "\n\n" } else { "" };
                events.extend(self.reasoning_event(&format!("{gap}{thinking}")));
                Open::Thinking { thinking, signature }
            }
            Some("redacted_thinking") => {
                self.budget.take_nested(raw.get())?;
                Open::Whole(raw.get().to_owned())
            }
            _ => Open::Unknown,
        };
        self.open.insert(index, open);
        Ok(events)
    }

    fn started_call(&mut self, block: &Object<'_>) -> Result<PendingCall, ModelError> {
        let text = |key: &str| block.text(key).unwrap_or_default().into_owned();
        // Some gateways send the complete input here instead of in deltas.
        let input = block.get("input").map(RawValue::get).unwrap_or_default();
        let input = if is_empty_object(input) { "" } else { input };
        let call = PendingCall::begun(text("id"), text("name"), input.to_owned());
        for text in [&call.id, &call.name, &call.input] {
            self.budget.take(text)?;
        }
        Ok(call)
    }

    fn delta(&mut self, event: &Object<'_>) -> Result<Vec<ModelEvent>, ModelError> {
        let Some(delta) = event.object("delta") else { return Ok(vec![]) };
        let index = event.index("index").or_else(|| self.open.keys().next_back().copied());
        let text = |key: &str| delta.string(key).unwrap_or_default();
        let block = index.and_then(|index| self.open.get_mut(&index));
        match (&*kind_of_delta(&delta), block) {
            // The content of an unknown block is not shown to users.
            (_, Some(Open::Unknown)) => {}
            ("text_delta", _) => return self.text(&text("text")),
            ("thinking_delta", block) => {
                self.budget.take_nested(&text("thinking"))?;
                if let Some(Open::Thinking { thinking, .. }) = block {
                    thinking.push_str(&text("thinking"));
                }
                return Ok(self.reasoning_event(&text("thinking")));
            }
            ("signature_delta", Some(Open::Thinking { signature, .. })) => {
                self.budget.take_nested(&text("signature"))?;
                signature.push_str(&text("signature"));
            }
            ("input_json_delta", _) => {
                // Some gateways send an object instead of its text.
                let part = delta.get("partial_json").map(object::written).unwrap_or_default();
                self.budget.take(&part)?;
                // An empty part adds nothing to a call.
                let Some(call) = self.call_of(index).filter(|_| !part.is_empty()) else { return Ok(vec![]) };
                call.push_input(&part);
                return Ok(call.growth().into_iter().collect());
            }
            // An unknown kind of delta.
            _ => {}
        }
        Ok(vec![])
    }

    /// Returns the call that arguments for this block belong to. If the block isn't a call, this is the open call with
    /// the highest index.
    fn call_of(&mut self, index: Option<u64>) -> Option<&mut PendingCall> {
        let is_call = |open: Option<&Open>| matches!(open, Some(Open::Call(_)));
        let last = || self.open.iter().rev().find(|(_, open)| is_call(Some(open))).map(|(index, _)| *index);
        let index = index.filter(|index| is_call(self.open.get(index))).or_else(last)?;
        match self.open.get_mut(&index)? {
            Open::Call(call) => Some(call),
            _ => None,
        }
    }

    fn next_index(&self) -> u64 {
        self.open.keys().next_back().map_or(0, |index| index.saturating_add(1))
    }

    fn text(&mut self, text: &str) -> Result<Vec<ModelEvent>, ModelError> {
        self.budget.take(text)?;
        Ok(if text.is_empty() { vec![] } else { vec![ModelEvent::TextDelta(text.to_owned())] })
    }

    fn reasoning_event(&mut self, text: &str) -> Vec<ModelEvent> {
        self.has_reasoning |= !text.is_empty();
        if text.is_empty() { vec![] } else { vec![ModelEvent::ReasoningDelta(text.to_owned())] }
    }

    fn close_block(&mut self, index: u64) -> Vec<ModelEvent> {
        match self.open.remove(&index) {
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
        }
    }

    fn message_start(&mut self, message: &Object<'_>) -> Result<Vec<ModelEvent>, ModelError> {
        self.usage.replace(&message.value("usage"));
        // Some gateways send complete content in `message_start`, which should only announce the message.
        let mut events = Vec::new();
        for block in message.get("content").and_then(object::elements).unwrap_or_default() {
            let index = self.next_index();
            events.extend(self.open_block(index, block)?);
            events.extend(self.close_block(index));
        }
        Ok(events)
    }

    /// Reads an answer that is one object with a stop reason. Returns no events if the stop reason is missing.
    fn whole(&mut self, message: &Object<'_>) -> Result<Vec<ModelEvent>, ModelError> {
        let Some(word) = message.string("stop_reason") else { return Ok(vec![]) };
        let mut events = self.message_start(message)?;
        self.stop_reason = StopReason::of_word(&word);
        events.extend(self.end());
        Ok(events)
    }

    fn message_delta(&mut self, event: &Object<'_>) {
        let word = event.object("delta").and_then(|delta| delta.string("stop_reason"));
        self.stop_reason = word.and_then(|word| StopReason::of_word(&word)).or(self.stop_reason.take());
        self.usage.replace(&event.value("usage"));
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        // A block that the server did not close is still read.
        let open: Vec<u64> = self.open.keys().copied().collect();
        let mut events: Vec<ModelEvent> = open.into_iter().flat_map(|index| self.close_block(index)).collect();
        let stop_reason = self.stop_reason.take().unwrap_or(StopReason::EndTurn);
        events.extend(finish(std::mem::take(&mut self.calls), stop_reason, self.usage.total()));
        events
    }
}

impl StreamReader for Reader {
    fn on_frame(&mut self, frame: &Frame) -> Result<Vec<ModelEvent>, ModelError> {
        stream_error::check(frame, &self.model)?;
        let data = frame.data.trim_start_matches('\u{feff}').trim();
        let Some(event) = Object::parse(data) else {
            // Gateways of Chat Completions end every stream with this mark.
            return if data == DONE { Ok(vec![]) } else { parse::<IgnoredAny>(data).map(|_| vec![]) };
        };
        // The event's name repeats the data's `type`; some gateways omit the name.
        let kind = event.string("type").filter(|_| frame.event == "message");
        match kind.as_deref().unwrap_or(&frame.event) {
            "message_start" => match event.object("message") {
                Some(message) => self.message_start(&message),
                None => Ok(vec![]),
            },
            "content_block_start" => self.start_block(&event),
            "content_block_delta" => self.delta(&event),
            "content_block_stop" => {
                let index = event.index("index").or_else(|| self.open.keys().next_back().copied());
                Ok(index.map(|index| self.close_block(index)).unwrap_or_default())
            }
            "message_delta" => {
                self.message_delta(&event);
                Ok(vec![])
            }
            "message_stop" => Ok(self.end()),
            // The complete answer of a server that does not stream.
            "message" => self.whole(&event),
            // `ping`, and event types that the API may add.
            _ => Ok(vec![]),
        }
    }

    fn has_stop_reason(&self) -> bool {
        self.stop_reason.is_some()
    }

    /// A stop reason is sufficient for a complete answer. Some gateways omit `message_stop`.
    fn on_end(&mut self, _: BodyEnd) -> Option<Vec<ModelEvent>> {
        self.stop_reason.is_some().then(|| self.end())
    }
}

/// Returns the kind of a delta. Some gateways omit it; then the name of its text field determines it.
fn kind_of_delta<'a>(delta: &Object<'a>) -> Cow<'a, str> {
    let kinds = [
        ("text", "text_delta"),
        ("partial_json", "input_json_delta"),
        ("thinking", "thinking_delta"),
        ("signature", "signature_delta"),
    ];
    let by_text = || kinds.into_iter().find(|(key, _)| delta.get(key).is_some()).map(|(_, kind)| Cow::Borrowed(kind));
    delta.string("type").or_else(by_text).unwrap_or_default()
}

impl Counts {
    /// Replaces the counts with newer ones. Each report counts from the start of the answer, so counts are not added.
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
