//! One event in the record of a turn: its ID, and its encoded bytes for each wire format.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, OnceLock, Weak},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tallybook_protocol::{ChatEvent, MessageId, Plan, PlanStep, Reasoning, ToolCall, ToolCallReview};

/// Encoding in which subscribers receive events. The encoders are in `http`; an entry caches the bytes, so that each
/// event is encoded once for all subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// The format of the web UI: one server-sent event per chat event.
    ChatEvents,
}

/// Number of wire formats.
const FORMATS: usize = 1;

/// One event of a turn. Cheap to clone; all clones share the encoded bytes.
#[derive(Clone, Debug)]
pub struct LogEntry(Arc<Content>);

#[derive(Debug)]
struct Content {
    id: Option<EventId>,
    event: ChatEvent,
    /// JSON from when the event was stored. The first wire format that needs it takes it.
    json: Mutex<Option<String>>,
    encoded: [OnceLock<Bytes>; FORMATS],
}

impl LogEntry {
    /// Creates an entry. Without `id`, the entry is not part of the turn's record.
    pub fn new(id: Option<EventId>, event: ChatEvent) -> Self {
        Self::with_json(id, event, None)
    }

    /// Creates an entry. `json` is the event's JSON, if the event was serialized already.
    pub fn with_json(id: Option<EventId>, event: ChatEvent, json: Option<String>) -> Self {
        Self(Arc::new(Content { id, event, json: Mutex::new(json), encoded: [const { OnceLock::new() }; FORMATS] }))
    }

    /// Returns a weak reference, which does not keep the entry alive.
    pub(crate) fn downgrade(&self) -> WeakLogEntry {
        WeakLogEntry(Arc::downgrade(&self.0))
    }

    /// Returns the entry's position in the record, or `None` if the event is not part of the record.
    pub fn id(&self) -> Option<EventId> {
        self.0.id
    }

    /// Returns the event.
    pub fn event(&self) -> &ChatEvent {
        &self.0.event
    }

    /// Returns the event's JSON on one line. The first call takes the JSON that was stored, if there is any; other
    /// calls serialize the event.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let stored = self.0.json.lock().take();
        stored.map_or_else(|| self.0.event.data(), Ok)
    }

    /// Returns the bytes in a wire format. Calls `encode` only if the entry does not have these bytes yet.
    pub fn encoded(&self, format: WireFormat, encode: impl FnOnce() -> Bytes) -> Bytes {
        self.0.encoded[format as usize].get_or_init(encode).clone()
    }
}

/// A reference to an entry that is valid only while a subscriber holds the entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeakLogEntry(Weak<Content>);

impl WeakLogEntry {
    /// Returns the entry if it still exists.
    pub(crate) fn upgrade(&self) -> Option<LogEntry> {
        self.0.upgrade().map(LogEntry)
    }
}

/// Estimates the memory that an event takes, in bytes: its texts and a fixed size.
pub(crate) fn event_bytes(event: &ChatEvent) -> usize {
    let reviews = |reviews: &[ToolCallReview]| reviews.iter().map(|review| review.reason.len()).sum::<usize>();
    let call = |call: &ToolCall| {
        let texts = call.input.as_str().len() + text_bytes(call.output.as_ref()) + text_bytes(call.error.as_ref());
        texts + reviews(&call.reviews)
    };
    let calls = |calls: &[ToolCall]| calls.iter().map(call).sum::<usize>();
    let reasoning = |parts: &[Reasoning]| parts.iter().map(|part| part.text.len()).sum::<usize>();
    let texts = match event {
        ChatEvent::MessageStart(start) => start.content.len(),
        ChatEvent::ToolCallPreparing(preparing) => preparing.tool_name.len(),
        ChatEvent::ToolCallProgress(progress) => text_bytes(progress.message.as_ref()),
        ChatEvent::ModelRetry(retry) => retry.code.len(),
        ChatEvent::ApprovalRequested(asked) => asked.input.as_str().len() + reviews(&asked.reviews),
        ChatEvent::ApprovalDecided(decided) => {
            text_bytes(decided.reason.as_ref()) + decided.input.as_ref().map_or(0, |input| input.as_str().len())
        }
        ChatEvent::ToolCallReview(review) => review.reason.len(),
        ChatEvent::Plan(plan) => plan_bytes(plan),
        ChatEvent::PlanStep(changed) => text_bytes(changed.reason.as_ref()),
        ChatEvent::ReasoningDelta(delta) => delta.delta.len(),
        ChatEvent::ContentDelta(delta) => delta.delta.len(),
        ChatEvent::ToolCallStart(start) => start.input.as_str().len(),
        ChatEvent::ToolCallEnd(end) => text_bytes(end.output.as_ref()) + text_bytes(end.error.as_ref()),
        ChatEvent::MessageEnd(end) => {
            end.content.len()
                + calls(&end.tool_calls)
                + reasoning(&end.reasoning)
                + end.plan.as_ref().map_or(0, plan_bytes)
        }
        ChatEvent::Snapshot(snapshot) => {
            snapshot.content.len()
                + calls(&snapshot.tool_calls)
                + reasoning(&snapshot.reasoning)
                + snapshot.plan.as_ref().map_or(0, plan_bytes)
        }
        ChatEvent::Error(error) => error.error.len(),
        ChatEvent::Unknown => 0,
    };
    texts + size_of::<Content>()
}

fn plan_bytes(plan: &Plan) -> usize {
    let step = |step: &PlanStep| {
        step.instruction.len() + step.expected.len() + text_bytes(step.reason.as_ref()) + size_of::<PlanStep>()
    };
    plan.success_criteria.len() + text_bytes(plan.reason.as_ref()) + plan.steps.iter().map(step).sum::<usize>()
}

fn text_bytes(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

/// Identifies one event by its turn, the epoch of the lease, and a sequence number. Written as `message.epoch.seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// ID of the assistant's message.
    pub message_id: MessageId,
    /// Epoch of the lease under which the event was sent.
    pub epoch: i32,
    /// Sequence number of the event within the turn and epoch, from 0.
    pub seq: i64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.message_id, self.epoch, self.seq)
    }
}

/// The text is not a valid event ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an event id")]
pub struct BadEventId;

impl FromStr for EventId {
    type Err = BadEventId;

    fn from_str(text: &str) -> Result<Self, BadEventId> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().ok_or(BadEventId);
        let (message_id, epoch, seq) = (next()?, next()?, next()?);
        let id = Self {
            message_id: MessageId(message_id.parse().map_err(|_| BadEventId)?),
            epoch: epoch.parse().map_err(|_| BadEventId)?,
            seq: seq.parse().map_err(|_| BadEventId)?,
        };
        // The snapshot of a turn that has sent nothing yet has the number -1.
        if id.message_id.0 >= 0 && id.epoch >= 0 && id.seq >= -1 { Ok(id) } else { Err(BadEventId) }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ChatEvent, ContentDelta, MessageId};

    use crate::journal::entry::{BadEventId, EventId, LogEntry};

    #[test]
    fn stored_json_is_not_encoded_again() {
        let event = ChatEvent::ContentDelta(ContentDelta { offset: 0, delta: "x".to_owned() });
        let made = event.data().unwrap();
        let entry = LogEntry::with_json(None, event.clone(), Some("{\"stored\":1}".into()));
        assert_eq!(&*entry.json().unwrap(), "{\"stored\":1}");
        assert_eq!(*entry.json().unwrap(), *made, "it is kept for one wire format only");
        assert_eq!(*LogEntry::new(None, event).json().unwrap(), *made);
    }

    #[test]
    fn an_id_is_parsed_back_and_other_texts_are_refused() {
        let id = EventId { message_id: MessageId(12), epoch: 3, seq: 40 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for nonsense in [
            "",
            "1",
            "1.2",
            "1.2.x",
            "1.2.3.4",
            "1.2.-2",
            "-1.2.3",
            "1.-2.3",
            "1.2.-9223372036854775808",
            "99999999999999999999.1.1",
        ] {
            assert_eq!(nonsense.parse::<EventId>(), Err(BadEventId), "{nonsense}");
        }
    }
}
