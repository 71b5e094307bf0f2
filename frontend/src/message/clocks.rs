//! Counts the seconds of running parts of a message, from the time when the page first sees them running.

use std::collections::{BTreeMap, BTreeSet};

use tallybook_protocol::{MessageStatus, PlanStepId, ToolCallId, ToolCallStatus};

use crate::{
    transcript::{Entry, Item, ItemKey, Segment},
    waiting::Waiting,
};

/// Something that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clock {
    /// A tool call.
    Call(ToolCallId),
    /// A model's reasoning.
    Reasoning(ItemKey),
    /// A step of the plan.
    Step(PlanStepId),
    /// Nothing of the answer, or of this step of its plan, comes.
    Silence(Option<PlanStepId>),
}

/// When each thing that runs began, in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    now_ms: i64,
    since: BTreeMap<Clock, i64>,
    /// Calls that were not over when they were first seen. Their end is announced.
    watched: BTreeSet<ToolCallId>,
    /// The reason why the answer waits, and the start of the wait.
    waiting: Option<(Waiting, i64)>,
}

/// Two states are equal if they show the same: while an answer grows, most draws come within one second.
impl PartialEq for Clocks {
    fn eq(&self, other: &Self) -> bool {
        let seconds = |clocks: &Self| clocks.since.keys().map(|clock| clocks.seconds(*clock)).collect::<Vec<_>>();
        (&self.since, &self.watched, &self.waiting) == (&other.since, &other.watched, &other.waiting)
            && (self.since.is_empty()
                || seconds(self) == seconds(other) && self.waiting_seconds() == other.waiting_seconds())
    }
}

impl Eq for Clocks {}

impl Clocks {
    /// Takes account of what runs at `now_ms`.
    pub(crate) fn update(&mut self, entry: &Entry, now_ms: i64) {
        let running = running(entry);
        self.since.retain(|clock, _| running.contains(clock));
        for clock in running {
            self.since.entry(clock).or_insert(now_ms);
        }
        self.watched.extend(entry.calls().filter(|call| !call.is_over()).map(|call| call.id));
        let waiting = Waiting::of(entry.activity.as_ref());
        if self.waiting.as_ref().is_none_or(|(before, _)| *before != waiting) {
            self.waiting = Some((waiting, now_ms));
        }
        self.now_ms = now_ms;
    }

    /// Returns the milliseconds from `now_ms` until one of the counts of seconds changes; `None` if nothing runs.
    pub(crate) fn next_change_ms(&self, now_ms: i64) -> Option<u64> {
        let waiting = self.waiting.as_ref().map(|(_, since)| *since).filter(|_| !self.since.is_empty());
        let begins = self.since.values().copied().chain(waiting);
        let left = begins.map(|since| 1000 - now_ms.saturating_sub(since).max(0) % 1000).min()?;
        u64::try_from(left).ok()
    }

    /// Returns `true` if a call was not over when it was first seen.
    pub(super) fn is_watched(&self, id: ToolCallId) -> bool {
        self.watched.contains(&id)
    }

    /// Returns the seconds for which something runs; 0 if it does not.
    pub(super) fn seconds(&self, clock: Clock) -> u64 {
        self.since.get(&clock).map_or(0, |since| self.seconds_since(*since))
    }

    /// Returns the seconds for which the answer has waited for what it waits for now.
    pub(super) fn waiting_seconds(&self) -> u64 {
        self.waiting.as_ref().map_or(0, |(_, since)| self.seconds_since(*since))
    }

    fn seconds_since(&self, since: i64) -> u64 {
        u64::try_from(self.now_ms.saturating_sub(since) / 1000).unwrap_or_default()
    }
}

fn running(entry: &Entry) -> Vec<Clock> {
    let runs = |item: &Item| match item {
        Item::Call(call) => {
            let runs = call.status == ToolCallStatus::Pending && entry.status != MessageStatus::AwaitingApproval;
            runs.then_some(Clock::Call(call.id))
        }
        Item::Reasoning(part) => (!part.is_over).then_some(Clock::Reasoning(item.key())),
    };
    let mut clocks: Vec<Clock> = entry.items.iter().filter_map(runs).collect();
    if let Some(step) = entry.step_at_work() {
        clocks.push(Clock::Step(step.step_id));
        clocks.extend(is_silent(entry, &entry.segments_of(step.step_id)).then_some(Clock::Silence(Some(step.step_id))));
    } else if entry.is_streaming() && is_silent(entry, &entry.segments()) {
        clocks.push(Clock::Silence(None));
    }
    debug_assert!(entry.plan.is_some() || !clocks.iter().any(|clock| matches!(clock, Clock::Step(_))));
    clocks
}

/// Returns `true` if nothing shows that an answer is being written, given its pieces so far.
pub(super) fn is_silent(entry: &Entry, pieces: &[Segment]) -> bool {
    entry.activity.is_some()
        || match pieces.last() {
            Some(Segment::Text(_)) => false,
            // An item that is not over shows it.
            Some(Segment::Items(_)) => entry.items.iter().all(Item::is_over),
            Some(Segment::Plan) | None => true,
        }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ChatEvent, MessageId, MessageStart};

    use super::Clocks;
    use crate::transcript::{Entry, Transcript, fold};

    fn streaming() -> Entry {
        let mut transcript = Transcript::default();
        let start = MessageStart {
            user_message_id: MessageId(1),
            assistant_message_id: MessageId(2),
            conversation_id: uuid::Uuid::nil(),
            content: "Hello".to_owned(),
            parent_id: None,
            files: Vec::new(),
            user_siblings: Vec::new(),
            assistant_siblings: Vec::new(),
            provider: None,
            model: None,
        };
        fold(&mut transcript, ChatEvent::MessageStart(start));
        (**transcript.entries().last().unwrap()).clone()
    }

    #[test]
    fn a_count_changes_once_a_second() {
        let entry = streaming();
        let mut clocks = Clocks::default();
        clocks.update(&entry, 10_400);
        assert_eq!(clocks.next_change_ms(10_400), Some(1000));
        let first = clocks.clone();
        clocks.update(&entry, 11_399);
        assert_eq!((clocks == first, clocks.next_change_ms(11_399)), (true, Some(1)));
        clocks.update(&entry, 11_400);
        assert_ne!(clocks, first);
    }
}
