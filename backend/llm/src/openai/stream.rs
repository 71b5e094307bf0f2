//! Reads a streamed answer of Chat Completions, chunk by chunk
//! (<https://platform.openai.com/docs/api-reference/chat-streaming>). Many servers implement this format with
//! deviations. This module tolerates the known deviations; comments name them where they are handled.

use serde::de::IgnoredAny;
use serde_json::Value;
use tallybook_protocol::{Usage, sse::Frame};

use super::{
    content::{self, Piece},
    reasoning::{Field, Reasoning},
};
use crate::openai::reasoning_tags::{ReasoningTags, Segment, UnopenedReasoning};
use crate::{
    error::ModelError,
    event::{ModelEvent, StopReason},
    limits::MAX_BLOCKS,
    object::{self, Object},
    pending_call::{PendingCall, finish, generated_id},
    reader::{AnswerBudget, BodyEnd, DONE, StreamReader, bad_stream, parse, tokens},
    stream_error,
};

/// A reader of one answer.
pub(crate) struct Reader {
    model: String,
    /// Calls in the order in which they started.
    calls: Vec<Indexed>,
    finish_reason: Option<StopReason>,
    refused: bool,
    /// `true` once a delta had any content.
    speaks_in_deltas: bool,
    reasoning: Reasoning,
    tags: ReasoningTags,
    usage: Usage,
    budget: AnswerBudget,
}

/// A call that is being received, with the index of its fragments.
struct Indexed {
    index: u64,
    call: PendingCall,
    /// The `extra_content` that must be sent back with the call.
    extra: Option<Value>,
}

impl Reader {
    /// Creates a reader for an answer of the model with this name and this habit.
    pub(crate) fn new(model: &str, habit: UnopenedReasoning) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            speaks_in_deltas: false,
            reasoning: Reasoning::default(),
            tags: ReasoningTags::new(habit),
            usage: Usage::default(),
            budget: AnswerBudget::default(),
        }
    }

    fn choice(&mut self, choice: &Object<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let delta = choice.object("delta").filter(says_something);
        self.speaks_in_deltas |= delta.is_some();
        // Some servers send a `message` instead of a delta. Others repeat the complete message in addition to their
        // deltas.
        let message = || choice.object("message").filter(|_| !self.speaks_in_deltas);
        if let Some(delta) = delta.or_else(message) {
            self.delta(&delta, events)?;
        }
        // Kimi reports usage within the choice.
        replace_usage(&mut self.usage, &choice.value("usage"));
        let Some(word) = choice.string("finish_reason") else { return Ok(()) };
        if word.eq_ignore_ascii_case("error") {
            return Err(bad_stream("the provider reports an unspecified error"));
        }
        self.finish_reason = StopReason::of_word(&word).or(self.finish_reason.take());
        Ok(())
    }

    /// Reads a delta, or a message that replaces it.
    fn delta(&mut self, delta: &Object<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        events.extend(self.thinking(delta)?);
        if let Some(content) = delta.get("content") {
            for piece in content::pieces(content) {
                self.piece(piece, events)?;
            }
        }
        if let Some(text) = delta.string("refusal").filter(|text| !text.is_empty()) {
            self.piece(Piece::Refusal(text), events)?;
        }
        let calls = delta.objects("tool_calls");
        for call in &calls {
            // Some servers omit the `function` level.
            let function = call.object("function");
            events.extend(self.call(call, function.as_ref().unwrap_or(call))?);
        }
        // The older form of a call, which some servers send in addition to the newer one.
        if let Some(function) = delta.object("function_call").filter(|_| calls.is_empty()) {
            events.extend(self.call(&Object::default(), &function)?);
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match piece {
            Piece::Text(text) => self.text(&text, events),
            Piece::Refusal(text) => {
                self.refused = true;
                self.text(&text, events)
            }
            Piece::Reasoning(text) => {
                self.budget.take_nested(&text)?;
                self.reasoning.add(Field::Part, &text);
                self.tags.note_reasoning_field();
                events.push(ModelEvent::ReasoningDelta(text.into_owned()));
                Ok(())
            }
        }
    }

    fn text(&mut self, text: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.budget.take(text)?;
        for said in self.tags.push(text) {
            events.push(self.said(said)?);
        }
        Ok(())
    }

    /// Converts a piece of text to an event. Reasoning between tags is also kept, to be sent back to the model with its
    /// tags.
    fn said(&mut self, said: Segment) -> Result<ModelEvent, ModelError> {
        Ok(match said {
            Segment::Text(text) => ModelEvent::TextDelta(text),
            Segment::Reasoning(text) => {
                self.budget.take_nested(&text)?;
                self.reasoning.add(Field::Tags, &text);
                ModelEvent::ReasoningDelta(text)
            }
            Segment::TextWasReasoning(text) => {
                self.budget.take_nested(&text)?;
                self.reasoning.add(Field::Tags, &text);
                ModelEvent::TextWasReasoning(text)
            }
            Segment::ReasoningWasText(text) => {
                self.reasoning.forget(Field::Tags);
                ModelEvent::TextDelta(text)
            }
        })
    }

    /// Reads a chunk's reasoning. Keeps the part that must be sent back, and returns the readable text. Servers that
    /// write several fields write the same text in each.
    fn thinking(&mut self, delta: &Object<'_>) -> Result<Option<ModelEvent>, ModelError> {
        let named = [Field::ReasoningContent, Field::Reasoning];
        let text = |field: Field| {
            Some((field, content::joined(delta.get(field.name())?))).filter(|(_, text)| !text.is_empty())
        };
        let mut shown = String::new();
        if let Some((field, text)) = named.into_iter().find_map(text) {
            self.budget.take_nested(&text)?;
            self.reasoning.add(field, &text);
            shown = text;
        }
        if let Some(details) = delta.get("reasoning_details") {
            let text = self.reasoning.add_details(details, &mut self.budget)?;
            if shown.is_empty() {
                shown = text;
            }
        }
        if shown.is_empty() {
            return Ok(None);
        }
        self.tags.note_reasoning_field();
        Ok(Some(ModelEvent::ReasoningDelta(shown)))
    }

    fn call(&mut self, part: &Object<'_>, function: &Object<'_>) -> Result<Option<ModelEvent>, ModelError> {
        let id = part.text("id").unwrap_or_default();
        let name = function.text("name").unwrap_or_default();
        // Fragments of text. Some servers send the complete arguments as a JSON object instead.
        let arguments = function.get("arguments").map(object::written).unwrap_or_default();
        for text in [&id, &name, &arguments] {
            self.budget.take(text)?;
        }
        // Data that the provider requires back with the call (Gemini's thought signature).
        let extra = Some(part.value("extra_content")).filter(Value::is_object);
        if let Some(extra) = &extra {
            self.budget.take_nested(&extra.to_string())?;
        }
        let Indexed { call, extra: held, .. } = self.entry(part.index("index"), &id, &name)?;
        if extra.is_some() {
            *held = extra;
        }
        // Servers repeat the ID and the name in later fragments, so these are set once and never joined.
        if call.id.is_empty() {
            call.id = id.into_owned();
        }
        if call.name.is_empty() {
            call.name = name.into_owned();
        }
        call.push_input(&arguments);
        Ok(call.growth())
    }

    /// Returns the call that a fragment belongs to. A fragment without an index belongs to the call with its ID, or to
    /// the last call, unless the fragment starts another call. Gemini's server gives every call the index 0; there, a
    /// new ID with a name starts another call.
    fn entry(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<&mut Indexed, ModelError> {
        let same_index = |one: &Indexed| index.is_none_or(|index| one.index == index);
        let same_id = |one: &Indexed| !id.is_empty() && one.call.id == id && same_index(one);
        let last = || {
            self.calls
                .iter()
                .rposition(same_index)
                .filter(|at| !starts_another_call(&self.calls[*at].call, index, id, name))
        };
        let found = self.calls.iter().rposition(same_id).or_else(last);
        let at = match found {
            Some(at) => at,
            None if self.calls.len() >= MAX_BLOCKS => {
                return Err(bad_stream(format!("it has more than {MAX_BLOCKS} tool calls")));
            }
            None => {
                let index = index.unwrap_or(self.calls.len() as u64);
                self.calls.push(Indexed { index, call: PendingCall::default(), extra: None });
                self.calls.len() - 1
            }
        };
        Ok(&mut self.calls[at])
    }

    fn end(&mut self, said: StopReason) -> Vec<ModelEvent> {
        let stop_reason = if self.refused { StopReason::Refusal } else { said };
        let held = self.tags.end(stop_reason.is_cut_off()).and_then(|held| self.said(held).ok());
        let mut reasoning = std::mem::take(&mut self.reasoning);
        let calls = std::mem::take(&mut self.calls).into_iter().map(|Indexed { mut call, extra, .. }| {
            if let Some(extra) = extra {
                if call.id.is_empty() {
                    call.id = generated_id();
                }
                reasoning.add_extra(&call.id, extra);
            }
            call
        });
        // The agent answers a call without a name with an error. An entry without ID, name and arguments is not a call.
        let calls: Vec<PendingCall> =
            calls.filter(|call| ![&call.id, &call.name, &call.input].iter().all(|text| text.is_empty())).collect();
        let reasoning = reasoning.into_block(self.tags.pair()).map(ModelEvent::Opaque);
        held.into_iter().chain(reasoning).chain(finish(calls, stop_reason, self.usage)).collect()
    }

    /// Returns `true` if there are calls and all of them are complete. Then a body that ended cleanly was a complete
    /// answer, although the server sent neither a finish reason nor an end mark.
    fn has_complete_calls(&self) -> bool {
        !self.refused
            && !self.calls.is_empty()
            && self.calls.iter().all(|one| !one.call.name.is_empty() && one.call.is_complete())
    }
}

impl StreamReader for Reader {
    fn on_frame(&mut self, frame: &Frame) -> Result<Vec<ModelEvent>, ModelError> {
        stream_error::check(frame, &self.model)?;
        let data = frame.data.trim_start_matches('\u{feff}').trim();
        if data == DONE {
            // Some servers send the end mark without a finish reason.
            let said = self.finish_reason.take().unwrap_or(StopReason::EndTurn);
            return Ok(self.end(said));
        }
        if data.is_empty() {
            return Ok(vec![]);
        }
        let Some(chunk) = Object::parse(data) else {
            // Other JSON values carry no events.
            return parse::<IgnoredAny>(data).map(|_| vec![]);
        };
        // Groq reports usage in a field of its own.
        let of_groq = chunk.object("x_groq").map(|own| own.value("usage"));
        for usage in of_groq.into_iter().chain([chunk.value("usage")]) {
            replace_usage(&mut self.usage, &usage);
        }
        let mut events = Vec::new();
        // The request asks for one answer only. The text of other choices would not belong in it.
        for choice in chunk.objects("choices").into_iter().filter(|choice| choice.index("index").unwrap_or(0) == 0) {
            self.choice(&choice, &mut events)?;
        }
        Ok(events)
    }

    fn has_stop_reason(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// A finish reason is sufficient for a complete answer, because not every server sends `[DONE]`. Some servers send
    /// neither; then complete calls and a clean end of the body are sufficient.
    fn on_end(&mut self, end: BodyEnd) -> Option<Vec<ModelEvent>> {
        let unsaid = || (end == BodyEnd::Clean && self.has_complete_calls()).then_some(StopReason::ToolUse);
        let said = self.finish_reason.clone().or_else(unsaid)?;
        Some(self.end(said))
    }
}

/// Returns `true` if a delta has a non-empty field besides the role.
fn says_something(delta: &Object<'_>) -> bool {
    delta.fields().any(|(key, value)| key != "role" && !matches!(value.get(), "null" | "\"\"" | "[]" | "{}" | "false"))
}

/// Returns `true` if a fragment with this ID and name belongs to a call other than the last one at its index.
fn starts_another_call(last: &PendingCall, index: Option<u64>, id: &str, name: &str) -> bool {
    if name.is_empty() || (last.id.is_empty() && last.name.is_empty()) {
        return false;
    }
    match (id.is_empty(), last.id.is_empty()) {
        // Each fragment may repeat the name.
        (true, _) => index.is_none() && (last.name != name || last.is_complete()),
        (false, true) => last.name != name || last.is_complete(),
        (false, false) => last.id != id,
    }
}

fn replace_usage(usage: &mut Usage, counted: &Value) {
    // DeepSeek and Kimi use their own names for the number of cached tokens.
    let cached = [
        &counted["prompt_tokens_details"]["cached_tokens"],
        &counted["prompt_cache_hit_tokens"],
        &counted["cached_tokens"],
    ];
    let counts = [
        (&mut usage.input_tokens, tokens(&counted["prompt_tokens"])),
        (&mut usage.output_tokens, tokens(&counted["completion_tokens"])),
        (&mut usage.cached_tokens, cached.into_iter().find_map(tokens)),
    ];
    for (count, counted) in counts {
        *count = counted.unwrap_or(*count);
    }
}
