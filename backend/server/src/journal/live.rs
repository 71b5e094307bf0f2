//! The record of one turn in memory: its events in a bounded buffer, for any number of readers (`subscription`).

use std::sync::Mutex;
use tallybook_database::now;

use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageId, ToolCall};
use tokio::sync::watch;

use super::{
    buffer::{State, Stored},
    entry::LogEntry,
    event_id::EventId,
    lock::lock,
    progress::Progress,
    stored::{EncodedEvent, StoredEvent},
    words::Words,
};

/// The events of a turn.
#[derive(Debug)]
pub struct TurnLog {
    message_id: MessageId,
    epoch: i32,
    /// Whether another process writes the turn, from which readers may have heard what is not here yet.
    is_copy: bool,
    pub(super) state: Mutex<State>,
    /// Held while a snapshot is made, so that readers who are behind at the same moment make one between them.
    pub(super) making_snapshot: Mutex<()>,
    pub(super) changed: watch::Sender<()>,
}

impl TurnLog {
    /// The record of a turn that begins.
    pub(super) fn new(message_id: MessageId, epoch: i32) -> Self {
        Self {
            message_id,
            epoch,
            is_copy: false,
            state: Mutex::default(),
            making_snapshot: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// The record of a turn that another process runs, to be filled from what is stored of it ([`Self::append_stored`]).
    pub(crate) fn copy(message_id: MessageId, epoch: i32) -> Self {
        Self { is_copy: true, ..Self::new(message_id, epoch) }
    }

    /// The record of a turn that is over, of which `end` is the last event. The words and the calls are for who must be told
    /// them beside it.
    pub(crate) fn of_end(id: EventId, end: ChatEvent, words: Words, calls: Vec<ToolCall>) -> Self {
        let mut state = State::before_end(id.seq, Progress::of(words, calls));
        state.push(id.seq, LogEntry::new(Some(id), end));
        state.ended = true;
        Self { state: Mutex::new(state), ..Self::new(id.message_id, id.epoch) }
    }

    /// Which turn this is: its assistant message.
    pub fn message_id(&self) -> MessageId {
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

    /// Whether it ended without the turn's end, because the rest could not be read.
    pub(super) fn is_broken_off(&self) -> bool {
        let state = lock(&self.state);
        state.ended && !state.has_terminal
    }

    /// Whether more is to come from another process.
    pub(super) fn is_being_copied(&self) -> bool {
        self.is_copy && !lock(&self.state).has_terminal
    }

    /// The number that the next event gets. Only the turn itself appends, so it may rely on it.
    pub fn next_seq(&self) -> i64 {
        lock(&self.state).next_seq
    }

    /// Raises the number of the next event to at least `seq`: lower numbers are stored already, by a commit whose answer was lost.
    pub(crate) fn skip_to(&self, seq: i64) {
        let mut state = lock(&self.state);
        state.next_seq = state.next_seq.max(seq);
    }

    /// The answer's words so far, and its calls so far with as much of their texts as one event carries.
    pub fn words_and_calls(&self) -> (Words, Vec<ToolCall>) {
        let state = lock(&self.state);
        (state.progress.words(), state.progress.calls().cloned().collect())
    }

    /// Returns a snapshot of the message without its text from a place on, after these events.
    pub fn snapshot_with_text_taken_back(&self, text_bytes: usize, events: &[ChatEvent]) -> ChatEvent {
        let (mut progress, seq) = {
            let state = lock(&self.state);
            (state.progress.clone(), state.next_seq)
        };
        progress.content.truncate(text_bytes);
        for event in events {
            progress.apply(event, now());
        }
        ChatEvent::Snapshot(progress.into_snapshot(self.id(seq)))
    }

    /// How many bytes of text the answer has so far.
    pub fn text_bytes(&self) -> usize {
        lock(&self.state).progress.content.len()
    }

    /// How many calls the answer has so far.
    pub fn count_calls(&self) -> usize {
        lock(&self.state).progress.calls().count()
    }

    /// What `read` makes of the answer's text so far. It must be quick: readers wait for it.
    pub fn read_text<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        read(&lock(&self.state).progress.content)
    }

    /// How much there is to be stored.
    pub fn all_words(&self) -> Stored {
        lock(&self.state).all_words()
    }

    /// What was written since so much was stored, as events that are stored under these numbers, and how much is stored then.
    /// What is stored is not asked for again.
    pub fn unstored(&self, stored: Stored) -> (Vec<(i64, ChatEvent)>, Stored) {
        lock(&self.state).unstored(stored)
    }

    /// Sends an event to all readers.
    pub fn append(&self, event: ChatEvent) {
        self.append_at(event, now());
    }

    /// The same, of something that was stored under the time `at`.
    pub fn append_at(&self, event: ChatEvent, at: DateTime<Utc>) {
        self.push(event, None, at);
    }

    /// Sends an event that was just stored to all readers. Its JSON is not made again.
    pub(crate) fn append_encoded(&self, event: ChatEvent, encoded: EncodedEvent, at: DateTime<Utc>) {
        self.push(event, Some(encoded.into_json()), at);
    }

    fn push(&self, event: ChatEvent, json: Option<String>, at: DateTime<Utc>) {
        let mut state = lock(&self.state);
        state.progress.apply(&event, at);
        let seq = state.next_seq;
        state.written(seq, &event);
        state.push(seq, LogEntry::with_json(Some(self.id(seq)), event, json));
        drop(state);
        self.changed.send_replace(());
    }

    /// Takes over an event that another process stored.
    pub(crate) fn append_stored(&self, StoredEvent { seq, event, created_at }: StoredEvent) {
        let mut state = lock(&self.state);
        state.progress.apply(&event, created_at);
        state.push(seq, LogEntry::new(Some(self.id(seq)), event));
        drop(state);
        self.changed.send_replace(());
    }

    /// Tells all readers something that is not part of the record, such as that the record cannot be kept.
    pub fn append_unnumbered(&self, event: ChatEvent) {
        let mut state = lock(&self.state);
        let seq = state.next_seq;
        state.push(seq, LogEntry::new(None, event));
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends its readers' streams once they have read what is there.
    pub(crate) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.send_replace(());
    }

    pub(super) fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.message_id, epoch: self.epoch, seq }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ChatEvent, ContentDelta, MessageId, ReasoningDelta};

    use super::{super::limits::MAX_STORED_TEXT_BYTES, Stored, TurnLog};

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
        assert_eq!(log.all_words(), stored);
        // Nobody heard whether that was stored.
        assert_eq!(log.unstored(nothing).0.len(), 3);
        assert_eq!(log.unstored(stored), (vec![], stored));
        log.append(ChatEvent::ReasoningDelta(thought(1, 3, " so", None)));
        assert_eq!(log.unstored(stored).0, [(5, ChatEvent::ReasoningDelta(thought(1, 3, " so", None)))]);
    }
}
