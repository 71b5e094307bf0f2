//! Playback of a turn that has ended: its events with their times, and the answer at each moment. Pure.

use std::sync::Arc;

use tallybook_protocol::{ChatEvent, MessageId, PlanStepId, PlayedEvent, Role, ToolCallId};

use crate::transcript::{Entry, Item, Transcript, fold};

/// Maximum length of a pause between two events, in milliseconds. Longer pauses, for example for an approval, are
/// shortened.
const MAX_PAUSE_MS: i64 = 3000;

/// The events of a turn, each with its time in milliseconds from the first event. Long pauses are shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    events: Vec<Recorded>,
}

/// An event of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    /// Time in the playback, in milliseconds from its beginning.
    ms: i64,
    /// Time when the event happened, in milliseconds since 1970.
    at_ms: i64,
    event: ChatEvent,
}

impl Recording {
    /// Creates a recording from stored events. Events that this version does not know are skipped.
    pub(crate) fn new(played: &[PlayedEvent]) -> Self {
        let mut events = Vec::with_capacity(played.len());
        let (mut before, mut ms) = (None::<i64>, 0);
        for event in played {
            let known = event.parse().unwrap_or(ChatEvent::Unknown);
            if known == ChatEvent::Unknown {
                continue;
            }
            let at = event.at.timestamp_millis();
            ms += before.map_or(0, |before| (at - before).clamp(0, MAX_PAUSE_MS));
            before = Some(at);
            events.push(Recorded { ms, at_ms: at, event: known });
        }
        Self { events }
    }

    /// Returns the length of the playback, in milliseconds.
    pub(crate) fn duration_ms(&self) -> i64 {
        self.events.last().map_or(0, |last| last.ms)
    }

    /// Returns the number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the number of events in the first `ms` milliseconds.
    pub(crate) fn happened(&self, ms: i64) -> usize {
        self.events.partition_point(|event| event.ms <= ms)
    }

    /// Returns the time of the last event before `ms`.
    #[cfg(any(feature = "ssr", test))]
    pub(crate) fn ms_before(&self, ms: i64) -> Option<i64> {
        let before = self.events.partition_point(|event| event.ms < ms);
        before.checked_sub(1).and_then(|last| self.events.get(last)).map(|event| event.ms)
    }

    /// Returns the time of the first event after `ms`.
    #[cfg(any(feature = "ssr", test))]
    pub(crate) fn ms_after(&self, ms: i64) -> Option<i64> {
        self.events.get(self.happened(ms)).map(|event| event.ms)
    }

    /// Returns the time of the last of the first `count` events.
    pub(crate) fn ms_of(&self, count: usize) -> i64 {
        count.checked_sub(1).and_then(|last| self.events.get(last)).map_or(0, |event| event.ms)
    }
}

/// The state of the answer at a moment of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    happened: usize,
    /// Time when the last of the events happened, in milliseconds since 1970.
    at_ms: Option<i64>,
    transcript: Transcript,
}

impl Scene {
    /// Goes to the state after the first `count` events. To go back, it replays the events from the beginning.
    pub(crate) fn go_to(&mut self, recording: &Recording, count: usize) {
        if count < self.happened {
            *self = Self::default();
        }
        let events = recording.events.get(self.happened..count).unwrap_or_default();
        for Recorded { at_ms, event, .. } in events {
            fold(&mut self.transcript, event.clone());
            self.at_ms = Some(*at_ms);
        }
        self.happened = count;
    }

    /// Returns the answer at this moment. Its IDs are negated, so that they differ from those of the messages and
    /// calls on the page.
    pub(crate) fn answer(&self) -> Option<Arc<Entry>> {
        let answer = self.transcript.entries().iter().find(|entry| entry.role == Role::Assistant)?;
        let mut answer = Entry::clone(answer);
        answer.id = MessageId(-answer.id.0);
        // The time when the answer was written, not the time of the playback.
        answer.at_ms = self.at_ms;
        for item in &mut answer.items {
            match item {
                Item::Call(call) => {
                    let call = Arc::make_mut(call);
                    call.id = ToolCallId(-call.id.0);
                }
                Item::Reasoning(part) => Arc::make_mut(part).message = answer.id,
            }
        }
        for step in answer.plan.iter_mut().flat_map(|plan| &mut Arc::make_mut(plan).steps) {
            step.step_id = PlanStepId(-step.step_id.0);
        }
        Some(Arc::new(answer))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use tallybook_protocol::{MessageStatus, PlayedEvent, RawJson};

    use super::{MAX_PAUSE_MS, Recording, Scene};

    fn played(events: &[(i64, &str, &str)]) -> Vec<PlayedEvent> {
        let event = |&(ms, event, data): &(i64, &str, &str)| PlayedEvent {
            event: event.to_owned(),
            data: RawJson::from_text(data),
            at: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(ms),
        };
        events.iter().map(event).collect()
    }

    #[test]
    fn playback_rebuilds_the_answer_and_shortens_long_pauses() {
        let start = r#"{"user_message_id":1,"assistant_message_id":2,
            "conversation_id":"00000000-0000-0000-0000-000000000000","content":"Well?"}"#;
        let call = r#"{"tool_call_id":7,"tool_name":"add","input":{},"offset":4}"#;
        let end = r#"{"assistant_message_id":2,"content":"Yes. No.","tool_calls":[],"status":"complete",
            "usage":{"input_tokens":1,"output_tokens":1,"cached_tokens":0}}"#;
        let recording = Recording::new(&played(&[
            (500, "message_start", start),
            (750, "content_delta", r#"{"delta":"Yes.","offset":0}"#),
            (800, "of_another_version", "{}"),
            (1000, "tool_call_start", call),
            (90_000, "content_delta", r#"{"delta":" No.","offset":4}"#),
            (90_000, "message_end", end),
        ]));
        assert_eq!((recording.len(), recording.duration_ms()), (5, 500 + MAX_PAUSE_MS));
        assert_eq!([-1, 0, 250, 499, 500].map(|ms| recording.happened(ms)), [0, 1, 2, 2, 3]);
        assert_eq!((recording.ms_of(0), recording.ms_of(3)), (0, 500));
        assert_eq!([0, 1, 250, 9000].map(|ms| recording.ms_before(ms)), [None, Some(0), Some(0), Some(3500)]);
        assert_eq!([-1, 0, 499, 3500].map(|ms| recording.ms_after(ms)), [Some(0), Some(250), Some(500), None]);

        let mut scene = Scene::default();
        assert!(scene.answer().is_none());
        scene.go_to(&recording, 5);
        let answer = scene.answer().unwrap();
        assert_eq!((answer.status, answer.at_ms), (MessageStatus::Complete, Some(90_000)));
        // Backwards, then forwards again.
        for (count, text, calls, at) in [(2, "Yes.", 0, 750), (3, "Yes.", 1, 1000), (4, "Yes. No.", 1, 90_000)] {
            scene.go_to(&recording, count);
            let answer = scene.answer().unwrap();
            assert_eq!((answer.text.as_str(), answer.calls().count(), answer.id.0), (text, calls, -2));
            assert!(answer.is_streaming());
            assert_eq!(answer.at_ms, Some(at), "the time of the last event");
        }
    }
}
