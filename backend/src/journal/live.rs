//! The live tail of one turn: events are serialised once, kept in a bounded buffer, and read by any number of readers
//! at their own pace. A reader never slows the turn: one that falls behind the buffer gets a snapshot and goes on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot, ToolCall, ToolCallStatus, sse};
use tokio::sync::watch;

use super::{EventId, lock};
use crate::db::now;

/// How many bytes of past events a turn keeps for readers that come back.
const BUFFER_BYTES: usize = 1024 * 1024;

/// The events of a turn that runs in this process.
#[derive(Debug)]
pub struct TurnLog {
    message_id: i64,
    epoch: i32,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Frames with neighbouring numbers; the last one's is `next_seq - 1`.
    frames: VecDeque<Bytes>,
    buffered_bytes: usize,
    next_seq: i64,
    /// The turn's last event, which every reader gets, however far behind it is.
    terminal: Option<Bytes>,
    ended: bool,
    content: String,
    tool_calls: Vec<ToolCall>,
}

impl TurnLog {
    pub(super) fn new(message_id: i64, epoch: i32) -> Self {
        Self { message_id, epoch, state: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Which turn this is: its assistant message.
    pub fn message_id(&self) -> i64 {
        self.message_id
    }

    /// Waits until the turn is over and all that is to be said of it has been.
    pub async fn ended(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.changed.subscribe().wait_for(|()| lock(&self.state).ended).await;
    }

    /// Whether all that is to be said of the turn here has been.
    pub fn has_ended(&self) -> bool {
        lock(&self.state).ended
    }

    /// The number that the next event gets. Only the turn itself appends, so it may rely on it.
    pub fn next_seq(&self) -> i64 {
        lock(&self.state).next_seq
    }

    /// The answer's text so far and its calls so far.
    pub fn content_and_calls(&self) -> (String, Vec<ToolCall>) {
        let state = lock(&self.state);
        (state.content.clone(), state.tool_calls.clone())
    }

    /// How many bytes of text the answer has so far.
    pub fn text_bytes(&self) -> usize {
        lock(&self.state).content.len()
    }

    /// The answer's text from a byte on, and the number of the last event sent.
    pub fn text_from(&self, offset: usize) -> (String, i64) {
        let state = lock(&self.state);
        (state.content.get(offset..).unwrap_or_default().to_owned(), state.next_seq - 1)
    }

    /// Sends an event to all readers.
    pub fn append(&self, event: &ChatEvent) -> Result<(), serde_json::Error> {
        self.append_at(event, now())
    }

    /// The same, of something that was stored under the time `at`.
    pub fn append_at(&self, event: &ChatEvent, at: DateTime<Utc>) -> Result<(), serde_json::Error> {
        let data = event.data()?;
        let mut state = lock(&self.state);
        let id = self.id(state.next_seq).to_string();
        state.apply(event, at);
        let frame = Bytes::from(sse::write_frame(Some(&id), event.name(), &data));
        if event.is_terminal() {
            state.terminal = Some(frame.clone());
        }
        state.push(frame);
        drop(state);
        self.changed.send_replace(());
        Ok(())
    }

    /// Tells all readers something that is not part of the record, such as that the record cannot be kept.
    pub fn append_unnumbered(&self, event: &ChatEvent) -> Result<(), serde_json::Error> {
        let frame = sse::write_frame(None, event.name(), &event.data()?);
        lock(&self.state).push(frame.into());
        self.changed.send_replace(());
        Ok(())
    }

    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.send_replace(());
    }

    /// Reads from the very first event.
    pub fn subscribe(self: &Arc<Self>) -> TurnSubscription {
        self.subscription(0)
    }

    /// Reads on after `last` where the buffer still has it; otherwise begins with a snapshot.
    pub fn subscribe_after(self: &Arc<Self>, last: Option<EventId>) -> TurnSubscription {
        let known = last.filter(|id| id.message_id == self.message_id && id.epoch == self.epoch);
        // A number before the first frame makes the reader begin with a snapshot.
        self.subscription(known.map_or(-1, |id| id.seq.saturating_add(1)))
    }

    fn subscription(self: &Arc<Self>, next_seq: i64) -> TurnSubscription {
        TurnSubscription { log: Arc::clone(self), next_seq, changed: self.changed.subscribe() }
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.message_id, epoch: self.epoch, seq }
    }
}

impl State {
    fn push(&mut self, frame: Bytes) {
        if self.ended {
            return;
        }
        self.buffered_bytes += frame.len();
        self.frames.push_back(frame);
        self.next_seq += 1;
        while self.buffered_bytes > BUFFER_BYTES && self.frames.len() > 1 {
            self.buffered_bytes -= self.frames.pop_front().map_or(0, |frame| frame.len());
        }
    }

    fn first_seq(&self) -> i64 {
        self.next_seq - i64::try_from(self.frames.len()).unwrap_or(0)
    }

    /// Keeps the message as far as it is, for snapshots.
    fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>) {
        match event {
            ChatEvent::ContentDelta(delta) => self.content.push_str(&delta.delta),
            ChatEvent::ToolCallStart(start) => self.tool_calls.push(ToolCall {
                tool_call_id: start.tool_call_id,
                tool_name: start.tool_name.clone(),
                input: start.input.clone(),
                offset: start.offset,
                status: ToolCallStatus::Pending,
                output: None,
                error: None,
                duration_ms: None,
                started_at: at,
            }),
            ChatEvent::ToolCallEnd(end) => {
                let call = self.tool_calls.iter_mut().find(|call| call.tool_call_id == end.tool_call_id);
                if let Some(call) = call {
                    call.status = end.status;
                    call.output.clone_from(&end.output);
                    call.error.clone_from(&end.error);
                    call.duration_ms = Some(end.duration_ms);
                }
            }
            ChatEvent::Snapshot(snapshot) => {
                self.content.clone_from(&snapshot.content);
                self.tool_calls.clone_from(&snapshot.tool_calls);
            }
            ChatEvent::MessageStart(_) | ChatEvent::MessageEnd(_) | ChatEvent::Error(_) | ChatEvent::Unknown => {}
        }
    }
}

/// One reader's place in a turn.
#[derive(Debug)]
pub struct TurnSubscription {
    log: Arc<TurnLog>,
    next_seq: i64,
    changed: watch::Receiver<()>,
}

impl TurnSubscription {
    /// What came since the last call, as bytes for the wire; waits when nothing did. `None` when the turn is over and
    /// all has been read.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.changed.mark_unchanged();
            if let Some(bytes) = self.read() {
                return Some(bytes);
            }
            if lock(&self.log.state).ended {
                // The end may have come between the reading and this look.
                return self.read();
            }
            self.changed.changed().await.ok()?;
        }
    }

    fn read(&mut self) -> Option<Bytes> {
        let state = lock(&self.log.state);
        if self.next_seq >= state.next_seq {
            return None;
        }
        let skip = self.next_seq - state.first_seq();
        self.next_seq = state.next_seq;
        let Ok(skip) = usize::try_from(skip) else {
            return self.snapshot(&state);
        };
        let mut frames = state.frames.iter().skip(skip);
        let first = frames.next()?.clone();
        let Some(second) = frames.next() else { return Some(first) };
        let mut joined = BytesMut::from(first);
        joined.extend_from_slice(second);
        frames.for_each(|frame| joined.extend_from_slice(frame));
        Some(joined.freeze())
    }

    fn snapshot(&self, state: &State) -> Option<Bytes> {
        let event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: self.log.message_id,
            epoch: self.log.epoch,
            content: state.content.clone(),
            tool_calls: state.tool_calls.clone(),
            status: MessageStatus::Streaming,
        });
        // The terminal event has a number of its own, which a reader that hears no more than the snapshot has not heard.
        let heard = state.next_seq - 1 - i64::from(state.terminal.is_some());
        let id = self.log.id(heard).to_string();
        // What was just held in memory as strings always serialises.
        let snapshot = sse::write_frame(Some(&id), event.name(), &event.data().ok()?);
        let terminal = state.terminal.clone().unwrap_or_default();
        Some([snapshot.as_bytes(), &terminal].concat().into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tallybook_protocol::{ChatEvent, ContentDelta, MessageEnd, MessageStatus, Usage, sse::Decoder};

    use super::{BUFFER_BYTES, TurnLog};

    fn delta(offset: usize, bytes: usize) -> ChatEvent {
        let offset = i64::try_from(offset).unwrap();
        ChatEvent::ContentDelta(ContentDelta { offset, delta: "x".repeat(bytes) })
    }

    #[tokio::test]
    async fn a_reader_far_behind_gets_a_snapshot_and_the_end() {
        let log = Arc::new(TurnLog::new(7, 1));
        let mut behind = log.subscribe();
        for portion in 0..4 {
            log.append(&delta(portion * BUFFER_BYTES / 2, BUFFER_BYTES / 2)).unwrap();
        }
        let end = ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: 7,
            content: String::new(),
            tool_calls: Vec::new(),
            status: MessageStatus::Complete,
            error: None,
            error_code: None,
            stop_reason: None,
            usage: Usage::default(),
        });
        log.append(&end).unwrap();
        log.end();
        let mut decoder = Decoder::new();
        let mut events = Vec::new();
        while let Some(bytes) = behind.next().await {
            let frames = decoder.push(&bytes).unwrap();
            events.extend(frames.iter().map(|frame| ChatEvent::parse(&frame.event, &frame.data).unwrap()));
        }
        let [ChatEvent::Snapshot(snapshot), last] = &events[..] else { panic!("{} events", events.len()) };
        assert_eq!(snapshot.content.len(), 2 * BUFFER_BYTES);
        assert_eq!(last, &end);
    }
}
