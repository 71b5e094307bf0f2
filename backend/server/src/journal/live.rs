//! The live tail of one turn: its events in a bounded buffer, read by any number of readers at their own pace. A reader
//! never slows the turn: one that falls behind the buffer gets a snapshot and goes on.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageId, MessageStatus, Snapshot, ToolCall};
use tokio::sync::watch;

use super::{
    buffer::{State, TextPiece},
    entry::LogEntry,
    event_id::EventId,
    limits::MAX_EVENTS_PER_BATCH,
    lock::lock,
    progress::Progress,
};
use crate::db::now;

/// The events of a turn that runs in this process.
#[derive(Debug)]
pub struct TurnLog {
    message_id: MessageId,
    epoch: i32,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl TurnLog {
    pub(super) fn new(message_id: MessageId, epoch: i32) -> Self {
        Self { message_id, epoch, state: Mutex::default(), changed: watch::Sender::new(()) }
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

    /// The number that the next event gets. Only the turn itself appends, so it may rely on it.
    pub fn next_seq(&self) -> i64 {
        lock(&self.state).next_seq
    }

    /// The answer's text so far, and its calls so far with as much of their texts as one event carries.
    pub fn content_and_calls(&self) -> (String, Vec<ToolCall>) {
        let state = lock(&self.state);
        (state.progress.content.clone(), state.progress.calls().to_vec())
    }

    /// How many bytes of text the answer has so far.
    pub fn text_bytes(&self) -> usize {
        lock(&self.state).progress.content.len()
    }

    /// What `read` makes of the answer's text so far. It must be quick: readers wait for it.
    pub fn read_text<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        read(&lock(&self.state).progress.content)
    }

    /// The answer's text from a byte on, in pieces that are stored as one event each. What is before `offset` is stored and
    /// is not asked for again.
    pub fn text_from(&self, offset: usize) -> Vec<TextPiece> {
        lock(&self.state).pieces_from(offset)
    }

    /// Sends an event to all readers.
    pub fn append(&self, event: ChatEvent) {
        self.append_at(event, now());
    }

    /// The same, of something that was stored under the time `at`.
    pub fn append_at(&self, event: ChatEvent, at: DateTime<Utc>) {
        let mut state = lock(&self.state);
        state.progress.apply(&event, at);
        if let ChatEvent::ContentDelta(_) = event {
            let end = (state.progress.content.len(), state.next_seq);
            state.delta_ends.push_back(end);
        }
        let is_terminal = event.is_terminal();
        let entry = LogEntry::new(Some(self.id(state.next_seq)), event);
        state.has_terminal |= is_terminal;
        state.push(entry);
        drop(state);
        self.changed.send_replace(());
    }

    /// Tells all readers something that is not part of the record, such as that the record cannot be kept.
    pub fn append_unnumbered(&self, event: ChatEvent) {
        lock(&self.state).push(LogEntry::new(None, event));
        self.changed.send_replace(());
    }

    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.send_replace(());
    }

    /// Reads from the very first event.
    pub fn subscribe(self: &Arc<Self>) -> TurnSubscription {
        self.subscription(0)
    }

    /// Reads on after `last` where that is an event of this record which the buffer still has. Otherwise begins with a
    /// snapshot; or with the end, where that tells the whole message, to a reader that has heard of it.
    pub fn subscribe_after(self: &Arc<Self>, last: Option<EventId>) -> TurnSubscription {
        let next_seq = self.next_seq();
        let of_this_message = last.filter(|id| id.message_id == self.message_id);
        let of_this_record = of_this_message.filter(|id| id.epoch == self.epoch && id.seq < next_seq);
        // A number before the first entry is always behind.
        let next_seq = of_this_record.map_or(-1, |id| id.seq.saturating_add(1));
        TurnSubscription { knows_message: of_this_message.is_some(), ..self.subscription(next_seq) }
    }

    fn subscription(self: &Arc<Self>, next_seq: i64) -> TurnSubscription {
        let changed = self.changed.subscribe();
        TurnSubscription { log: Arc::clone(self), next_seq, knows_message: false, changed }
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.message_id, epoch: self.epoch, seq }
    }

    /// The message as far as it had come before the number `next_seq`. Made without holding the lock.
    fn snapshot(&self, progress: Progress, next_seq: i64) -> LogEntry {
        let event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: self.message_id,
            epoch: self.epoch,
            tool_calls: progress.calls().to_vec(),
            content: progress.content,
            status: MessageStatus::Streaming,
        });
        let entry = LogEntry::new(Some(self.id(next_seq - 1)), event);
        lock(&self.state).snapshot = (next_seq, entry.downgrade());
        entry
    }
}

/// One reader's place in a turn.
#[derive(Debug)]
pub struct TurnSubscription {
    log: Arc<TurnLog>,
    next_seq: i64,
    /// Whether this reader has heard of the message, here or before.
    knows_message: bool,
    changed: watch::Receiver<()>,
}

/// What a look at the buffer gives.
enum Look {
    Nothing,
    Entries(Vec<LogEntry>),
    /// The reader is too far behind: it needs a snapshot, made of this.
    Behind(Progress),
}

impl TurnSubscription {
    /// What came since the last call, some of it at a time; waits when nothing did. `None` when the turn is over and all
    /// has been read.
    pub async fn next(&mut self) -> Option<Vec<LogEntry>> {
        loop {
            self.changed.mark_unchanged();
            if let Some(entries) = self.read() {
                self.knows_message = true;
                return Some(entries);
            }
            if self.log.has_ended() {
                // The end may have come between the reading and this look.
                return self.read();
            }
            self.changed.changed().await.ok()?;
        }
    }

    fn read(&mut self) -> Option<Vec<LogEntry>> {
        match self.look() {
            Look::Nothing => None,
            Look::Entries(entries) => Some(entries),
            Look::Behind(progress) => Some(vec![self.log.snapshot(progress, self.next_seq)]),
        }
    }

    fn look(&mut self) -> Look {
        let state = lock(&self.log.state);
        if self.next_seq >= state.next_seq {
            return Look::Nothing;
        }
        if self.next_seq < state.first_seq() && self.knows_message && state.ends_whole() {
            self.next_seq = state.next_seq - 1;
        }
        if let Ok(skip) = usize::try_from(self.next_seq - state.first_seq()) {
            let entries: Vec<_> = state.entries.iter().skip(skip).take(MAX_EVENTS_PER_BATCH).cloned().collect();
            self.next_seq += i64::try_from(entries.len()).unwrap_or(0);
            return Look::Entries(entries);
        }
        // One that some reader still holds will do, where the buffer has what comes after it.
        let (next_seq, made) = &state.snapshot;
        if let Some(made) = made.upgrade()
            && *next_seq >= state.first_seq()
        {
            self.next_seq = *next_seq;
            return Look::Entries(vec![made]);
        }
        // The turn's last event is always in the buffer, and is read after the snapshot.
        self.next_seq = state.next_seq - i64::from(state.has_terminal);
        Look::Behind(state.progress.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tallybook_protocol::{ChatEvent, ContentDelta, MessageEnd, MessageId, MessageStatus, TurnError, Usage};

    use super::{
        super::limits::{MAX_BUFFERED_BYTES, MAX_STORED_TEXT_BYTES},
        EventId, TextPiece, TurnLog, TurnSubscription,
    };

    fn delta(offset: usize, bytes: usize) -> ChatEvent {
        let offset = i64::try_from(offset).unwrap();
        ChatEvent::ContentDelta(ContentDelta { offset, delta: "x".repeat(bytes) })
    }

    fn end() -> ChatEvent {
        ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: MessageId(7),
            content: String::new(),
            tool_calls: Vec::new(),
            status: MessageStatus::Complete,
            error: None,
            error_code: None,
            stop_reason: None,
            usage: Usage::default(),
        })
    }

    /// A turn that is over, of whose events the buffer holds only the last.
    fn long_turn() -> Arc<TurnLog> {
        let log = Arc::new(TurnLog::new(MessageId(7), 1));
        for portion in 0..4 {
            log.append(delta(portion * MAX_BUFFERED_BYTES / 2, MAX_BUFFERED_BYTES / 2));
        }
        log.append(end());
        log.end();
        log
    }

    async fn events(mut subscription: TurnSubscription) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        while let Some(entries) = subscription.next().await {
            events.extend(entries.iter().map(|entry| entry.event().clone()));
        }
        events
    }

    #[tokio::test]
    async fn a_reader_far_behind_gets_a_snapshot_and_the_end() {
        let events = events(long_turn().subscribe()).await;
        let [ChatEvent::Snapshot(snapshot), last] = &events[..] else { panic!("{} events", events.len()) };
        assert_eq!(snapshot.content.len(), 2 * MAX_BUFFERED_BYTES);
        assert_eq!(last, &end());
    }

    /// The same that it is told a moment later, when the turn is known by its rows alone.
    #[tokio::test]
    async fn a_reader_that_knows_the_message_is_told_its_whole_end_and_nothing_before_it() {
        for (epoch, seq) in [(0, 3), (1, 0)] {
            let heard = EventId { message_id: MessageId(7), epoch, seq };
            assert_eq!(events(long_turn().subscribe_after(Some(heard))).await, [end()]);
        }
    }

    /// The end of a turn that failed does not tell what was written.
    #[tokio::test]
    async fn a_reader_that_knows_the_message_is_told_what_a_failed_turn_wrote() {
        let log = Arc::new(TurnLog::new(MessageId(7), 2));
        log.append(delta(0, 5));
        let failed = ChatEvent::Error(TurnError {
            error: "No.".to_owned(),
            code: "internal".to_owned(),
            user_message_id: Some(MessageId(6)),
            assistant_message_id: Some(MessageId(7)),
        });
        log.append(failed.clone());
        log.end();
        let before = EventId { message_id: MessageId(7), epoch: 1, seq: 3 };
        let events = events(log.subscribe_after(Some(before))).await;
        let [ChatEvent::Snapshot(snapshot), last] = &events[..] else { panic!("{events:?}") };
        assert_eq!((snapshot.content.as_str(), last), ("xxxxx", &failed));
    }

    #[test]
    fn text_is_stored_in_pieces_each_under_the_number_of_its_last_delta() {
        let log = TurnLog::new(MessageId(7), 1);
        let bytes = MAX_STORED_TEXT_BYTES / 2;
        (0..3).for_each(|portion| log.append(delta(portion * bytes, bytes)));
        let places = |pieces: Vec<TextPiece>| -> Vec<_> {
            pieces.into_iter().map(|piece| (piece.offset, piece.text.len(), piece.seq)).collect()
        };
        assert_eq!(places(log.text_from(0)), [(0, 2 * bytes, 1), (2 * bytes, bytes, 2)]);
        assert_eq!(places(log.text_from(2 * bytes)), [(2 * bytes, bytes, 2)]);
        assert_eq!(places(log.text_from(3 * bytes)), []);
    }

    #[tokio::test]
    async fn readers_who_are_behind_alike_share_one_snapshot() {
        let log = long_turn();
        let (first, second) = (log.subscribe().next().await.unwrap(), log.subscribe().next().await.unwrap());
        assert!(std::ptr::eq(first[0].event(), second[0].event()));
    }

    #[tokio::test]
    async fn a_reader_that_names_an_event_which_was_never_sent_hears_the_end() {
        for seq in [5, i64::MAX] {
            let last = EventId { message_id: MessageId(7), epoch: 1, seq };
            assert_eq!(events(long_turn().subscribe_after(Some(last))).await, [end()]);
        }
    }
}
