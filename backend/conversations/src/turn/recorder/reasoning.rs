//! Converts a model's reasoning to events: limits its size and measures its duration.

use std::time::Duration;

use tallybook_protocol::{
    ChatEvent, MAX_REASONING_BYTES, MAX_STEP_REASONING_BYTES, ReasoningDelta, beginning_within, json_bytes,
};
use tokio::time::Instant;

use crate::journal::TurnLog;
use crate::{limits::MAX_DELTA_BYTES, turn::recorder::writer::wire_offset};

/// Separator between two pieces of reasoning in one step.
const GAP: &str = "\n\n";

/// Reasoning of a turn.
#[derive(Debug)]
pub(crate) struct ReasoningState {
    step: Option<Step>,
    /// Size of the reasoning of all steps as JSON, in bytes.
    bytes: usize,
}

/// Reasoning of the last step that had any.
#[derive(Debug)]
struct Step {
    id: i64,
    /// Position in the answer: byte offset in its text, and number of tool calls before it.
    offset: i64,
    calls_before: i64,
    /// Length so far, in bytes.
    len: usize,
    /// Length of its JSON form so far, in bytes.
    bytes: usize,
    truncated: bool,
    /// Start of the current piece. `None` while the model does something else.
    since: Option<Instant>,
    /// Total duration of the previous pieces.
    before: Duration,
}

impl ReasoningState {
    /// Creates the state for a turn, which counts the reasoning that is in its log already.
    pub(crate) fn after(log: &TurnLog) -> Self {
        let (partial, _) = log.partial_and_calls();
        Self { step: None, bytes: partial.reasoning.iter().map(|reasoning| json_bytes(&reasoning.text)).sum() }
    }

    /// Sends new reasoning of a step, up to the size limits.
    pub(crate) fn append(&mut self, log: &TurnLog, step: u32, delta: &str) {
        let offset = log.text_bytes();
        let events = self.grow(log, step, delta, (offset, Instant::now()));
        for event in events {
            log.append(event);
        }
    }

    /// Returns the events that add `delta` to a step's reasoning, up to the size limits. `offset` is the position in
    /// the text if the step has no reasoning yet. `since` is the start time if no piece is in progress.
    pub(crate) fn grow(
        &mut self,
        log: &TurnLog,
        step: u32,
        delta: &str,
        (offset, since): (usize, Instant),
    ) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let id = i64::from(step);
        if self.step.as_ref().is_none_or(|known| known.id != id) {
            self.step = Some(Step::begin(id, log, offset));
        }
        let Some(step) = &mut self.step else { return events };
        let begins_part = step.since.is_none() && step.len > 0;
        step.since.get_or_insert(since);
        for text in [if begins_part { GAP } else { "" }, delta] {
            if step.truncated {
                break;
            }
            let room = (MAX_STEP_REASONING_BYTES - step.bytes).min(MAX_REASONING_BYTES.saturating_sub(self.bytes));
            let emitted = beginning_within(text, room);
            step.truncated = emitted.len() < text.len();
            let bytes = json_bytes(emitted);
            step.bytes += bytes;
            self.bytes += bytes;
            step.emit(emitted, &mut events);
        }
        events
    }

    /// Ends the current piece and sends its event, because the model does something else or has finished.
    pub(crate) fn pause(&mut self, log: &TurnLog) {
        self.end().into_iter().for_each(|event| log.append(event));
    }

    /// Ends the current piece. Returns the event with the duration of the step's reasoning, or `None` if no piece is in
    /// progress.
    pub(crate) fn end(&mut self) -> Option<ChatEvent> {
        let step = self.step.as_mut()?;
        step.before += step.since.take()?.elapsed();
        let duration_ms = i64::try_from(step.before.as_millis()).unwrap_or(i64::MAX);
        Some(ChatEvent::ReasoningDelta(ReasoningDelta { duration_ms: Some(duration_ms), ..step.delta("") }))
    }
}

impl Step {
    fn begin(id: i64, log: &TurnLog, offset: usize) -> Self {
        let (offset, calls_before) = (wire_offset(offset), wire_offset(log.count_calls()));
        Self { id, offset, calls_before, len: 0, bytes: 0, truncated: false, since: None, before: Duration::ZERO }
    }

    fn emit(&mut self, text: &str, events: &mut Vec<ChatEvent>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (portion, after) = rest.split_at(rest.floor_char_boundary(MAX_DELTA_BYTES));
            events.push(ChatEvent::ReasoningDelta(self.delta(portion)));
            self.len += portion.len();
            rest = after;
        }
    }

    fn delta(&self, text: &str) -> ReasoningDelta {
        ReasoningDelta {
            reasoning_id: self.id,
            offset: self.offset,
            calls_before: self.calls_before,
            reasoning_offset: wire_offset(self.len),
            delta: text.to_owned(),
            duration_ms: None,
            truncated: self.truncated,
        }
    }
}
