//! The record of one turn in memory: its events in a bounded buffer, for any number of subscribers (`subscription`).

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tallybook_database::now;
use tallybook_protocol::{ChatEvent, MessageId, ToolCall};
use tokio::sync::watch;

use crate::journal::{
    buffer::{State, Stored},
    entry::LogEntry,
    event_id::EventId,
    progress::Progress,
    stored::{EncodedEvent, StoredEvent},
    words::Words,
};

/// The log of a turn's events.
#[derive(Debug)]
pub struct TurnLog {
    message_id: MessageId,
    epoch: i32,
    /// `true` if another process runs the turn. That process's subscribers may already have received events that are
    /// not in this copy yet.
    is_copy: bool,
    pub(crate) state: Mutex<State>,
    /// Held while a snapshot is made, so that subscribers that fall behind at the same moment share one.
    pub(crate) making_snapshot: Mutex<()>,
    pub(crate) changed: watch::Sender<()>,
}

impl TurnLog {
    /// Creates the log of a turn that begins.
    pub(crate) fn new(message_id: MessageId, epoch: i32) -> Self {
        Self {
            message_id,
            epoch,
            is_copy: false,
            state: Mutex::default(),
            making_snapshot: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Creates the log of a turn that another process runs. The caller fills it from the stored journal with
    /// [`Self::append_stored`].
    pub fn copy(message_id: MessageId, epoch: i32) -> Self {
        Self { is_copy: true, ..Self::new(message_id, epoch) }
    }

    /// Creates the log of a finished turn, whose last event is `end`. `words` and `calls` are for subscribers that need a
    /// snapshot before that event.
    pub fn of_end(id: EventId, end: ChatEvent, words: Words, calls: Vec<ToolCall>) -> Self {
        let mut state = State::before_end(id.seq, Progress::of(words, calls));
        state.push(id.seq, LogEntry::new(Some(id), end));
        state.ended = true;
        Self { state: Mutex::new(state), ..Self::new(id.message_id, id.epoch) }
    }

    /// Returns the ID of the turn's assistant message, which identifies the turn.
    pub fn message_id(&self) -> MessageId {
        self.message_id
    }

    /// Waits until the log has ended: no more events are appended.
    pub async fn ended(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.changed.subscribe().wait_for(|()| self.state.lock().ended).await;
    }

    /// Returns `true` if the log has ended.
    pub fn has_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Returns `true` if the log ended without the turn's last event, because the rest could not be read.
    pub(crate) fn is_broken_off(&self) -> bool {
        let state = self.state.lock();
        state.ended && !state.has_terminal
    }

    /// Returns `true` if more events are to come from another process.
    pub(crate) fn is_being_copied(&self) -> bool {
        self.is_copy && !self.state.lock().has_terminal
    }

    /// Returns the sequence number of the next event. The turn's own task can rely on it, because no other task appends
    /// numbered events.
    pub fn next_seq(&self) -> i64 {
        self.state.lock().next_seq
    }

    /// Raises the number of the next event to at least `seq`: lower numbers are stored already, by a commit whose answer was
    /// lost.
    pub fn skip_to(&self, seq: i64) {
        let mut state = self.state.lock();
        state.next_seq = state.next_seq.max(seq);
    }

    /// Returns the answer's text, reasoning and plan so far, and its tool calls, truncated to what one event carries.
    pub fn words_and_calls(&self) -> (Words, Vec<ToolCall>) {
        let state = self.state.lock();
        (state.progress.words(), state.progress.calls().cloned().collect())
    }

    /// Returns a snapshot of the message with its text truncated to `text_bytes` and with `events` applied.
    pub fn snapshot_with_text_taken_back(&self, text_bytes: usize, events: &[ChatEvent]) -> ChatEvent {
        let (mut progress, seq) = {
            let state = self.state.lock();
            (state.progress.clone(), state.next_seq)
        };
        progress.content.truncate(text_bytes);
        for event in events {
            progress.apply(event, now());
        }
        ChatEvent::Snapshot(progress.into_snapshot(self.id(seq)))
    }

    /// Returns the length of the answer's text so far, in bytes.
    pub fn text_bytes(&self) -> usize {
        self.state.lock().progress.content.len()
    }

    /// Returns the number of tool calls so far.
    pub fn count_calls(&self) -> usize {
        self.state.lock().progress.calls().count()
    }

    /// Calls `read` with the answer's text so far. `read` must be quick, because it holds the lock that subscribers
    /// need.
    pub fn read_text<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        read(&self.state.lock().progress.content)
    }

    /// Returns the position after all text and reasoning so far.
    pub fn all_text(&self) -> Stored {
        self.state.lock().all_text()
    }

    /// Returns the text and reasoning after the position `stored`, as events with the numbers under which to store them, and
    /// the new position. Drops what `stored` covers, so a later call must not pass an earlier position.
    pub fn unstored(&self, stored: Stored) -> (Vec<(i64, ChatEvent)>, Stored) {
        self.state.lock().unstored(stored)
    }

    /// Appends an event and sends it to all subscribers.
    pub fn append(&self, event: ChatEvent) {
        self.append_at(event, now());
    }

    /// Appends an event that was stored at the time `at`.
    pub fn append_at(&self, event: ChatEvent, at: DateTime<Utc>) {
        self.push(event, None, at);
    }

    /// Appends an event that was just stored. Its JSON is reused.
    pub fn append_encoded(&self, event: ChatEvent, encoded: EncodedEvent, at: DateTime<Utc>) {
        self.push(event, Some(encoded.into_json()), at);
    }

    fn push(&self, event: ChatEvent, json: Option<String>, at: DateTime<Utc>) {
        let mut state = self.state.lock();
        state.progress.apply(&event, at);
        let seq = state.next_seq;
        state.written(seq, &event);
        state.push(seq, LogEntry::with_json(Some(self.id(seq)), event, json));
        drop(state);
        self.changed.send_replace(());
    }

    /// Appends an event that another process stored.
    pub fn append_stored(&self, StoredEvent { seq, event, created_at }: StoredEvent) {
        let mut state = self.state.lock();
        state.progress.apply(&event, created_at);
        state.push(seq, LogEntry::new(Some(self.id(seq)), event));
        drop(state);
        self.changed.send_replace(());
    }

    /// Sends an event that is not part of the record to all subscribers, for example that the record cannot be stored
    /// now.
    pub fn append_unnumbered(&self, event: ChatEvent) {
        let mut state = self.state.lock();
        let seq = state.next_seq;
        state.push(seq, LogEntry::new(None, event));
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends the log: its subscribers' streams end once they have read what is there.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.changed.send_replace(());
    }

    pub(crate) fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.message_id, epoch: self.epoch, seq }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ChatEvent, ContentDelta, MessageId, ReasoningDelta};

    use crate::journal::{
        limits::MAX_STORED_TEXT_BYTES,
        live::{Stored, TurnLog},
    };

    fn delta(offset: usize, bytes: usize) -> ChatEvent {
        let offset = i64::try_from(offset).unwrap();
        ChatEvent::ContentDelta(ContentDelta { offset, delta: "x".repeat(bytes) })
    }

    #[test]
    fn text_is_stored_in_pieces_each_under_the_number_of_its_last_delta() {
        let log = TurnLog::new(MessageId(7), 1);
        let bytes = MAX_STORED_TEXT_BYTES / 2;
        (0..3).for_each(|portion| log.append(delta(portion * bytes, bytes)));
        let places = |text_bytes: usize| -> Vec<_> {
            let place = |(seq, event): (i64, ChatEvent)| match event {
                ChatEvent::ContentDelta(piece) => (usize::try_from(piece.offset).unwrap(), piece.delta.len(), seq),
                other => panic!("{other:?}"),
            };
            let (events, stored) = log.unstored(Stored { text_bytes, reasoning_seq: -1 });
            assert_eq!(stored.text_bytes, 3 * bytes);
            events.into_iter().map(place).collect()
        };
        assert_eq!(places(0), [(0, 2 * bytes, 1), (2 * bytes, bytes, 2)]);
        assert_eq!(places(2 * bytes), [(2 * bytes, bytes, 2)]);
        assert_eq!(places(3 * bytes), []);
    }

    #[test]
    fn thinking_is_stored_joined_step_by_step_and_each_delta_once() {
        let log = TurnLog::new(MessageId(7), 1);
        let thought = |reasoning_id, reasoning_offset, delta: &str, duration_ms| {
            let delta = delta.to_owned();
            ReasoningDelta { reasoning_id, reasoning_offset, delta, duration_ms, ..ReasoningDelta::default() }
        };
        let first = [thought(0, 0, "Let ", None), thought(0, 4, "me", None), thought(0, 6, "", Some(12))];
        for delta in first {
            log.append(ChatEvent::ReasoningDelta(delta));
        }
        log.append(delta(0, 3));
        log.append(ChatEvent::ReasoningDelta(thought(1, 0, "And", None)));
        let nothing = Stored { text_bytes: 0, reasoning_seq: -1 };
        let (events, stored) = log.unstored(nothing);
        let expected = [
            (3, delta(0, 3)),
            (2, ChatEvent::ReasoningDelta(thought(0, 0, "Let me", Some(12)))),
            (4, ChatEvent::ReasoningDelta(thought(1, 0, "And", None))),
        ];
        assert_eq!((events, stored), (expected.to_vec(), Stored { text_bytes: 3, reasoning_seq: 4 }));
        assert_eq!(log.all_text(), stored);
        // If the outcome of the commit is unknown, the same events can be requested again.
        assert_eq!(log.unstored(nothing).0.len(), 3);
        assert_eq!(log.unstored(stored), (vec![], stored));
        log.append(ChatEvent::ReasoningDelta(thought(1, 3, " so", None)));
        assert_eq!(log.unstored(stored).0, [(5, ChatEvent::ReasoningDelta(thought(1, 3, " so", None)))]);
    }
}
