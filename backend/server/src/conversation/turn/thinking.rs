//! What a model shows of its thinking, on its way to the readers: how much of it is told, and how long it took.

use std::time::Duration;

use tallybook_protocol::{
    ChatEvent, MAX_REASONING_BYTES, MAX_STEP_REASONING_BYTES, ReasoningDelta, beginning_within, json_bytes,
};
use tokio::time::Instant;

use super::{super::limits::MAX_DELTA_BYTES, writer::wire_offset};
use crate::journal::TurnLog;

/// Stands between two thoughts of one step.
const GAP: &str = "\n\n";

/// The thinking of a turn.
#[derive(Debug)]
pub(super) struct Thinking {
    step: Option<Step>,
    /// Bytes of all steps, as JSON.
    bytes: usize,
}

/// The thinking of the step that thought last.
#[derive(Debug)]
struct Step {
    id: i64,
    /// Where in the answer it stands, and after how many calls.
    offset: i64,
    calls_before: i64,
    /// Its length so far.
    len: usize,
    /// The same as JSON.
    bytes: usize,
    truncated: bool,
    /// Since when it goes on; nothing while the model does something else.
    since: Option<Instant>,
    /// How long it went on before that.
    before: Duration,
}

impl Thinking {
    /// Of a turn whose record has come so far.
    pub(super) fn after(log: &TurnLog) -> Self {
        let (words, _) = log.words_and_calls();
        Self { step: None, bytes: words.reasoning.iter().map(|thought| json_bytes(&thought.text)).sum() }
    }

    /// Tells what is new in a step, as far as there is room for it.
    pub(super) fn go_on(&mut self, log: &TurnLog, step: u32, delta: &str) {
        let offset = log.text_bytes();
        let events = self.grow(log, step, delta, (offset, Instant::now()));
        for event in events {
            log.append(event);
        }
    }

    /// Returns the events by which a step's reasoning grows, up to the limits. If the step has none yet, it is at this place
    /// in the text and began at this time.
    pub(super) fn grow(
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
        let is_new_thought = step.since.is_none() && step.len > 0;
        step.since.get_or_insert(since);
        for words in [if is_new_thought { GAP } else { "" }, delta] {
            if step.truncated {
                break;
            }
            let room = (MAX_STEP_REASONING_BYTES - step.bytes).min(MAX_REASONING_BYTES.saturating_sub(self.bytes));
            let told = beginning_within(words, room);
            step.truncated = told.len() < words.len();
            let bytes = json_bytes(told);
            step.bytes += bytes;
            self.bytes += bytes;
            step.tell(told, &mut events);
        }
        events
    }

    /// The model does something else now, or nothing more.
    pub(super) fn pause(&mut self, log: &TurnLog) {
        self.end().into_iter().for_each(|event| log.append(event));
    }

    /// Returns the event that says how long the model thought, if it does.
    pub(super) fn end(&mut self) -> Option<ChatEvent> {
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

    fn tell(&mut self, words: &str, events: &mut Vec<ChatEvent>) {
        let mut rest = words;
        while !rest.is_empty() {
            let (portion, after) = rest.split_at(rest.floor_char_boundary(MAX_DELTA_BYTES));
            events.push(ChatEvent::ReasoningDelta(self.delta(portion)));
            self.len += portion.len();
            rest = after;
        }
    }

    fn delta(&self, words: &str) -> ReasoningDelta {
        ReasoningDelta {
            reasoning_id: self.id,
            offset: self.offset,
            calls_before: self.calls_before,
            reasoning_offset: wire_offset(self.len),
            delta: words.to_owned(),
            duration_ms: None,
            truncated: self.truncated,
        }
    }
}
