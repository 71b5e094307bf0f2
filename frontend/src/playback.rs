//! A turn that is over, to be played again: what was to be seen of it when. No signals and no browser.

use std::sync::Arc;

use tallybook_protocol::{ChatEvent, MessageId, PlanStepId, PlayedEvent, Role, ToolCallId};

use crate::transcript::{Entry, Item, Transcript, fold};

/// A pause takes no longer than this, in milliseconds, however long somebody was waited for.
const MAX_PAUSE_MS: i64 = 3000;

/// The events of a turn, each with the milliseconds from the first one to it; long pauses are shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    events: Vec<Recorded>,
}

/// An event of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    /// When it is played, in milliseconds from the beginning.
    ms: i64,
    /// When it happened, in milliseconds since 1970.
    at_ms: i64,
    event: ChatEvent,
}

impl Recording {
    /// Takes events as they were stored. What this version does not know is left out.
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

    /// How long it takes to play, in milliseconds.
    pub(crate) fn duration_ms(&self) -> i64 {
        self.events.last().map_or(0, |last| last.ms)
    }

    /// How many events it has.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// How many of them had happened after so many milliseconds.
    pub(crate) fn happened(&self, ms: i64) -> usize {
        self.events.partition_point(|event| event.ms <= ms)
    }

    /// The last moment before this one at which something happened.
    #[cfg(any(feature = "ssr", test))]
    pub(crate) fn ms_before(&self, ms: i64) -> Option<i64> {
        let before = self.events.partition_point(|event| event.ms < ms);
        before.checked_sub(1).and_then(|last| self.events.get(last)).map(|event| event.ms)
    }

    /// The next one.
    #[cfg(any(feature = "ssr", test))]
    pub(crate) fn ms_after(&self, ms: i64) -> Option<i64> {
        self.events.get(self.happened(ms)).map(|event| event.ms)
    }

    /// When the last of the first `count` happened.
    pub(crate) fn ms_of(&self, count: usize) -> i64 {
        count.checked_sub(1).and_then(|last| self.events.get(last)).map_or(0, |event| event.ms)
    }
}

/// What is to be seen at a moment of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    happened: usize,
    /// When the last of what happened did, in milliseconds since 1970.
    at_ms: Option<i64>,
    transcript: Transcript,
}

impl Scene {
    /// Goes to where the first `count` events have happened; backwards, from the beginning.
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

    /// The answer as far as it is, under ids that no message and no call on the page has.
    pub(crate) fn answer(&self) -> Option<Arc<Entry>> {
        let answer = self.transcript.entries().iter().find(|entry| entry.role == Role::Assistant)?;
        let mut answer = Entry::clone(answer);
        answer.id = MessageId(-answer.id.0);
        // It was written then, and not while it is played.
        answer.at_ms = self.at_ms;
        for item in &mut answer.items {
            match item {
                Item::Call(call) => {
                    let call = Arc::make_mut(call);
                    call.id = ToolCallId(-call.id.0);
                }
                Item::Thought(thought) => Arc::make_mut(thought).message = answer.id,
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
    fn an_answer_grows_again_and_a_long_wait_is_short() {
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
        // Backwards, and on again.
        for (count, text, calls, at) in [(2, "Yes.", 0, 750), (3, "Yes.", 1, 1000), (4, "Yes. No.", 1, 90_000)] {
            scene.go_to(&recording, count);
            let answer = scene.answer().unwrap();
            assert_eq!((answer.text.as_str(), answer.calls().count(), answer.id.0), (text, calls, -2));
            assert!(answer.is_streaming());
            assert_eq!(answer.at_ms, Some(at), "when that was written");
        }
    }
}
