//! The record of one turn in memory: the message so far, and the latest events in a bounded buffer, for any number of
//! subscribers (`subscription`).

use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tallybook_database::now;
use tallybook_protocol::{ChatEvent, ContentDelta, MessageId, ReasoningDelta, ToolCall};
use tokio::sync::watch;

use crate::journal::{
    answer::{AnswerState, PartialAnswer},
    entry::{EventId, LogEntry, WeakLogEntry, event_bytes},
    stored::{EncodedEvent, Stored, StoredEvent},
};

/// Maximum size of the past events that a running turn buffers for reconnecting subscribers, in bytes. This holds a few
/// seconds of text, since each delta takes hundreds of bytes as an event. A subscriber that is further behind gets a
/// snapshot.
pub(crate) const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Maximum length of the text in one stored event, in bytes. Even when escaped as JSON, this fits into one statement on
/// every supported database.
const MAX_STORED_TEXT_BYTES: usize = 256 * 1024;

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

    /// Creates the log of a finished turn, whose last event is `end`. `partial` and `calls` are for subscribers that
    /// need a snapshot before that event.
    pub fn of_end(id: EventId, end: ChatEvent, partial: PartialAnswer, calls: Vec<ToolCall>) -> Self {
        let mut state = State::before_end(id.seq, AnswerState::of(partial, calls));
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
    pub(crate) fn is_incomplete(&self) -> bool {
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

    /// Raises the sequence number of the next event to at least `seq`, because a commit that was not confirmed has
    /// stored events with lower numbers.
    pub fn skip_to(&self, seq: i64) {
        let mut state = self.state.lock();
        state.next_seq = state.next_seq.max(seq);
    }

    /// Returns the answer's text, reasoning and plan so far, and its tool calls, truncated to what one event carries.
    pub fn partial_and_calls(&self) -> (PartialAnswer, Vec<ToolCall>) {
        let state = self.state.lock();
        (state.progress.partial(), state.progress.calls().cloned().collect())
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

    /// Returns the text and reasoning after the position `stored`, as events with the numbers under which to store
    /// them, and the new position. Drops what `stored` covers, so a later call must not pass an earlier position.
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

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Entries in the order of their sequence numbers, all below `next_seq`. Numbers can be missing: a stored copy
    /// joins text deltas, and a commit that was not confirmed may have used numbers.
    entries: VecDeque<(i64, LogEntry)>,
    buffered_bytes: usize,
    /// The buffer has every event from this sequence number on.
    first_seq: i64,
    pub(crate) next_seq: i64,
    /// `true` if the last entry is the turn's last event. Every subscriber gets that event, however far behind the
    /// subscriber is.
    pub(crate) has_terminal: bool,
    pub(crate) ended: bool,
    pub(crate) progress: AnswerState,
    /// `true` if only the end of the turn is known.
    pub(crate) is_end_alone: bool,
    /// For text deltas that may not be stored yet: where each delta ends, in bytes of the answer's text, and its
    /// sequence number.
    delta_ends: VecDeque<(usize, i64)>,
    /// Reasoning that may not be stored yet, with sequence numbers. `last_reasoning_seq` is the last such number,
    /// stored or not.
    reasoning: VecDeque<(i64, ReasoningDelta)>,
    last_reasoning_seq: Option<i64>,
    /// The most recent snapshot, and the sequence number that was next when it was made. It lives while a subscriber
    /// holds it.
    pub(crate) snapshot: (i64, WeakLogEntry),
}

impl State {
    /// Creates the state of a turn whose last event is about to be pushed with the sequence number `seq`.
    fn before_end(seq: i64, progress: AnswerState) -> Self {
        Self { first_seq: seq, next_seq: seq, progress, is_end_alone: true, ..Self::default() }
    }

    pub(crate) fn push(&mut self, seq: i64, entry: LogEntry) {
        self.next_seq = seq + 1;
        if self.ended {
            return;
        }
        self.buffered_bytes += event_bytes(entry.event());
        self.has_terminal |= entry.event().is_terminal();
        self.entries.push_back((seq, entry));
        while self.buffered_bytes > MAX_BUFFERED_BYTES && self.entries.len() > 1 {
            let Some((seq, dropped)) = self.entries.pop_front() else { break };
            self.buffered_bytes -= event_bytes(dropped.event());
            self.first_seq = seq + 1;
        }
    }

    /// Returns at most `limit` entries from the sequence number `seq` on, or `None` if the buffer has dropped some of
    /// them.
    pub(crate) fn entries_from(&self, seq: i64, limit: usize) -> Option<Vec<(i64, LogEntry)>> {
        if seq < self.first_seq {
            return None;
        }
        let first = self.find_first(seq);
        Some(self.entries.iter().skip(first).take(limit).cloned().collect())
    }

    /// Returns the index of the first entry whose sequence number is `seq` or higher. While a turn runs, usually no
    /// numbers are missing, so the index follows from the distance to the end. A binary search per token and subscriber
    /// took 4 % of the time per token.
    fn find_first(&self, seq: i64) -> usize {
        let from_end = usize::try_from(self.next_seq - seq).unwrap_or(0);
        let least = self.entries.len().saturating_sub(from_end);
        if self.entries.get(least).is_none_or(|(held, _)| *held >= seq) {
            return least;
        }
        self.entries.partition_point(|(held, _)| *held < seq)
    }

    /// Returns the most recent snapshot if a subscriber still holds it and the buffer has all events after it.
    pub(crate) fn held_snapshot(&self) -> Option<(i64, LogEntry)> {
        let (next_seq, made) = &self.snapshot;
        made.upgrade().filter(|_| *next_seq >= self.first_seq).map(|made| (*next_seq, made))
    }

    /// Returns `true` if the last entry is an end event with the complete message, so that a subscriber needs no
    /// earlier event.
    pub(crate) fn ends_whole(&self) -> bool {
        matches!(self.entries.back().map(|(_, entry)| entry.event()), Some(ChatEvent::MessageEnd(_)))
    }

    /// Remembers the text or reasoning of the event `seq`, which is stored later, joined. The event is already applied
    /// to `progress`.
    pub(crate) fn written(&mut self, seq: i64, event: &ChatEvent) {
        match event {
            ChatEvent::ContentDelta(_) => self.delta_ends.push_back((self.progress.content.len(), seq)),
            // A snapshot is stored together with all text before it.
            ChatEvent::Snapshot(_) => self.delta_ends.clear(),
            ChatEvent::ReasoningDelta(delta) => {
                self.reasoning.push_back((seq, delta.clone()));
                self.last_reasoning_seq = Some(seq);
            }
            _ => {}
        }
    }

    pub(crate) fn all_text(&self) -> Stored {
        Stored { text_bytes: self.progress.content.len(), reasoning_seq: self.last_reasoning_seq.unwrap_or(-1) }
    }

    /// Collects text and reasoning under one lock, so that no event stored later has a lower sequence number.
    pub(crate) fn unstored(&mut self, stored: Stored) -> (Vec<(i64, ChatEvent)>, Stored) {
        let text =
            self.text_from(stored.text_bytes).into_iter().map(|(seq, text)| (seq, ChatEvent::ContentDelta(text)));
        let text: Vec<_> = text.collect();
        let text_bytes = self.delta_ends.back().map_or(stored.text_bytes, |(end, _)| *end);
        let reasoning = self.reasoning_after(stored.reasoning_seq);
        let reasoning = reasoning.into_iter().map(|(seq, reasoning)| (seq, ChatEvent::ReasoningDelta(reasoning)));
        let reasoning_seq = self.last_reasoning_seq.unwrap_or(stored.reasoning_seq).max(stored.reasoning_seq);
        (text.into_iter().chain(reasoning).collect(), Stored { text_bytes, reasoning_seq })
    }

    fn text_from(&mut self, offset: usize) -> Vec<(i64, ContentDelta)> {
        while self.delta_ends.front().is_some_and(|(end, _)| *end <= offset) {
            self.delta_ends.pop_front();
        }
        let mut pieces: Vec<(i64, ContentDelta)> = Vec::new();
        let mut start = offset;
        for &(end, seq) in &self.delta_ends {
            let Some(text) = self.progress.content.get(start..end) else { break };
            match pieces.last_mut() {
                Some((last, piece)) if piece.delta.len() + text.len() <= MAX_STORED_TEXT_BYTES => {
                    piece.delta.push_str(text);
                    *last = seq;
                }
                _ => {
                    let offset = i64::try_from(start).unwrap_or(i64::MAX);
                    pieces.push((seq, ContentDelta { offset, delta: text.to_owned() }));
                }
            }
            start = end;
        }
        pieces
    }

    fn reasoning_after(&mut self, seq: i64) -> Vec<(i64, ReasoningDelta)> {
        while self.reasoning.front().is_some_and(|(number, _)| *number <= seq) {
            self.reasoning.pop_front();
        }
        let mut pieces: Vec<(i64, ReasoningDelta)> = Vec::new();
        for (seq, reasoning) in &self.reasoning {
            match pieces.last_mut() {
                Some((last, piece))
                    if piece.reasoning_id == reasoning.reasoning_id
                        && piece.delta.len() + reasoning.delta.len() <= MAX_STORED_TEXT_BYTES =>
                {
                    piece.delta.push_str(&reasoning.delta);
                    piece.duration_ms = reasoning.duration_ms;
                    piece.truncated |= reasoning.truncated;
                    *last = *seq;
                }
                _ => pieces.push((*seq, reasoning.clone())),
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tallybook_database::now;
    use tallybook_protocol::{ChatEvent, ContentDelta, MessageId, ReasoningDelta};

    use crate::journal::{
        log::{MAX_STORED_TEXT_BYTES, TurnLog},
        stored::{EncodedEvent, Stored},
    };

    fn delta(offset: usize, bytes: usize) -> ChatEvent {
        let offset = i64::try_from(offset).unwrap();
        ChatEvent::ContentDelta(ContentDelta { offset, delta: "x".repeat(bytes) })
    }

    #[tokio::test]
    async fn subscribers_receive_the_json_that_was_stored() {
        let log = Arc::new(TurnLog::new(MessageId(7), 1));
        let mut subscription = log.subscribe_from_start();
        // The stored JSON differs from the event's own, so this shows which one is sent.
        let stored = EncodedEvent::of(&delta(0, 1)).unwrap();
        log.append_encoded(delta(0, 2), stored, now());
        let entries = subscription.next().await.unwrap();
        assert_eq!(*entries[0].json().unwrap(), *delta(0, 1).data().unwrap());
    }

    #[test]
    fn text_is_stored_in_pieces_with_the_number_of_their_last_delta() {
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
    fn reasoning_is_stored_per_step_and_each_delta_once() {
        let log = TurnLog::new(MessageId(7), 1);
        let reasoning = |reasoning_id, reasoning_offset, delta: &str, duration_ms| {
            let delta = delta.to_owned();
            ReasoningDelta { reasoning_id, reasoning_offset, delta, duration_ms, ..ReasoningDelta::default() }
        };
        let first = [reasoning(0, 0, "Let ", None), reasoning(0, 4, "me", None), reasoning(0, 6, "", Some(12))];
        for delta in first {
            log.append(ChatEvent::ReasoningDelta(delta));
        }
        log.append(delta(0, 3));
        log.append(ChatEvent::ReasoningDelta(reasoning(1, 0, "And", None)));
        let nothing = Stored { text_bytes: 0, reasoning_seq: -1 };
        let (events, stored) = log.unstored(nothing);
        let expected = [
            (3, delta(0, 3)),
            (2, ChatEvent::ReasoningDelta(reasoning(0, 0, "Let me", Some(12)))),
            (4, ChatEvent::ReasoningDelta(reasoning(1, 0, "And", None))),
        ];
        assert_eq!((events, stored), (expected.to_vec(), Stored { text_bytes: 3, reasoning_seq: 4 }));
        assert_eq!(log.all_text(), stored);
        // If the outcome of the commit is unknown, the same events can be requested again.
        assert_eq!(log.unstored(nothing).0.len(), 3);
        assert_eq!(log.unstored(stored), (vec![], stored));
        log.append(ChatEvent::ReasoningDelta(reasoning(1, 3, " so", None)));
        assert_eq!(log.unstored(stored).0, [(5, ChatEvent::ReasoningDelta(reasoning(1, 3, " so", None)))]);
    }
}
