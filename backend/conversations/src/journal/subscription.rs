//! One subscriber's position in the record of a turn. Subscribers read at their own pace and never slow the turn: if a
//! subscriber falls behind the buffer, it gets a snapshot and continues from there.

use std::sync::Arc;

use tallybook_protocol::ChatEvent;
use tokio::sync::watch;

use crate::journal::{
    answer::AnswerState,
    entry::{EventId, LogEntry},
    log::TurnLog,
};

/// Maximum number of events that a subscriber gets in one batch.
const MAX_EVENTS_PER_BATCH: usize = 256;

impl TurnLog {
    /// Subscribes from the very first event.
    pub fn subscribe_from_start(self: &Arc<Self>) -> TurnSubscription {
        self.subscription(0)
    }

    /// Subscribes after the event `last`, if that belongs to this log and the buffer still has all later events.
    /// Otherwise the subscription starts with a snapshot, or with the end event if that has the complete message and
    /// the subscriber knows the message.
    pub fn subscribe_after(self: &Arc<Self>, last: Option<EventId>) -> TurnSubscription {
        let next = self.id(self.next_seq());
        let of_this_message = last.filter(|id| id.message_id == next.message_id);
        let was_sent = |id: &EventId| id.seq < next.seq || self.is_being_copied();
        let of_this_record = of_this_message.filter(|id| id.epoch == next.epoch && was_sent(id));
        // A number before the first entry always counts as behind.
        let next_seq = of_this_record.map_or(-1, |id| id.seq.saturating_add(1));
        TurnSubscription { knows_message: of_this_message.is_some(), ..self.subscription(next_seq) }
    }

    fn subscription(self: &Arc<Self>, next_seq: i64) -> TurnSubscription {
        let changed = self.changed.subscribe();
        TurnSubscription { log: Arc::clone(self), next_seq, knows_message: false, changed }
    }
}

/// One subscriber's position in a turn.
#[derive(Debug)]
pub struct TurnSubscription {
    log: Arc<TurnLog>,
    next_seq: i64,
    /// `true` if this subscriber has received anything of the message, here or earlier.
    knows_message: bool,
    changed: watch::Receiver<()>,
}

/// The subscriber is too far behind and needs a snapshot.
struct Behind;

impl TurnSubscription {
    /// Returns the next batch of events; waits if there is none yet. Returns `None` when the log has ended and
    /// everything was read.
    pub async fn next(&mut self) -> Option<Vec<LogEntry>> {
        loop {
            self.changed.mark_unchanged();
            if let Some(entries) = self.read(snapshot) {
                self.knows_message = true;
                return Some(entries);
            }
            if self.log.has_ended() {
                // The end may have come after the read above.
                return self.read(snapshot);
            }
            self.changed.changed().await.ok()?;
        }
    }

    /// Returns the events that are available now, or `None` if there are none. `make` builds a snapshot, which takes
    /// time. The turn does not wait for it; only subscribers that also need a snapshot do.
    fn read(&mut self, make: impl FnOnce(AnswerState, EventId) -> LogEntry) -> Option<Vec<LogEntry>> {
        if let Ok(found) = self.poll() {
            return found;
        }
        let log = Arc::clone(&self.log);
        let _making = log.making_snapshot.lock();
        // A subscriber that had to wait finds the snapshot that was made in the meantime.
        if let Ok(found) = self.poll() {
            return found;
        }
        let progress = {
            let state = log.state.lock();
            // The turn's last event is read after the snapshot.
            self.next_seq = state.next_seq - i64::from(state.has_terminal);
            state.progress.clone()
        };
        let entry = make(progress, log.id(self.next_seq - 1));
        log.state.lock().snapshot = (self.next_seq, entry.downgrade());
        Some(vec![entry])
    }

    fn poll(&mut self) -> Result<Option<Vec<LogEntry>>, Behind> {
        let state = self.log.state.lock();
        if self.next_seq >= state.next_seq || state.next_seq == 0 {
            return Ok(None);
        }
        let entries = state.entries_from(self.next_seq, MAX_EVENTS_PER_BATCH).or_else(|| {
            // The turn's last event is always in the buffer.
            let is_enough = state.ends_whole() && (self.knows_message || state.is_end_alone);
            is_enough.then(|| state.entries_from(state.next_seq - 1, 1)).flatten()
        });
        if let Some(entries) = entries {
            self.next_seq = entries.last().map_or(state.next_seq, |(seq, _)| seq + 1);
            return Ok(Some(entries.into_iter().map(|(_, entry)| entry).collect()));
        }
        let (next_seq, made) = state.held_snapshot().ok_or(Behind)?;
        self.next_seq = next_seq;
        Ok(Some(vec![made]))
    }
}

/// Returns a snapshot entry of the message as of the event `id`.
fn snapshot(progress: AnswerState, id: EventId) -> LogEntry {
    let event = ChatEvent::Snapshot(progress.into_snapshot(id));
    LogEntry::new(Some(id), event)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc, Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
        time::Duration,
    };

    use bytes::Bytes;
    use tallybook_database::now;
    use tallybook_protocol::{
        AnswerMode, ChatEvent, ContentDelta, MessageEnd, MessageId, MessageStatus, TurnError, Usage,
    };

    use crate::journal::{
        WireFormat,
        log::MAX_BUFFERED_BYTES,
        stored::StoredEvent,
        subscription::{EventId, LogEntry, TurnLog, TurnSubscription, snapshot},
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
            reasoning: Vec::new(),
            plan: None,
            mode: AnswerMode::React,
            status: MessageStatus::Complete,
            error: None,
            error_code: None,
            stop_reason: None,
            usage: Usage::default(),
            provider: None,
            model: None,
            context: None,
            files: Vec::new(),
            conversation_deleted: false,
        })
    }

    /// Returns the log of a finished turn whose buffer holds only the last event.
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
    async fn a_subscriber_far_behind_gets_a_snapshot_and_the_end() {
        let events = events(long_turn().subscribe_from_start()).await;
        let [ChatEvent::Snapshot(snapshot), last] = &events[..] else { panic!("{} events", events.len()) };
        assert_eq!(snapshot.content.len(), 2 * MAX_BUFFERED_BYTES);
        assert_eq!(last, &end());
    }

    /// The subscriber gets the same a moment later, when only the turn's rows are left.
    #[tokio::test]
    async fn a_subscriber_that_knows_the_message_gets_only_its_end() {
        for (epoch, seq) in [(0, 3), (1, 0)] {
            let heard = EventId { message_id: MessageId(7), epoch, seq };
            assert_eq!(events(long_turn().subscribe_after(Some(heard))).await, [end()]);
        }
    }

    /// The end event of a failed turn does not contain the text.
    #[tokio::test]
    async fn a_subscriber_that_knows_the_message_gets_the_text_of_a_failed_turn() {
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

    #[tokio::test]
    async fn subscribers_at_the_same_position_share_one_snapshot() {
        let log = long_turn();
        let (first, second) =
            (log.subscribe_from_start().next().await.unwrap(), log.subscribe_from_start().next().await.unwrap());
        assert!(std::ptr::eq(first[0].event(), second[0].event()));
    }

    #[test]
    fn concurrent_subscribers_build_one_snapshot() {
        let (log, made, all) = (long_turn(), AtomicUsize::new(0), Barrier::new(8));
        let read = || {
            let mut behind = log.subscribe_from_start();
            all.wait();
            let entries = behind.read(|progress, id| {
                made.fetch_add(1, Ordering::SeqCst);
                // Long enough for the other subscribers to arrive.
                thread::sleep(Duration::from_millis(20));
                snapshot(progress, id)
            });
            // The snapshot is shared while a subscriber holds it.
            all.wait();
            assert_eq!(entries.unwrap().len(), 1);
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(read))));
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_subscriber_with_an_unknown_event_id_gets_the_end() {
        for seq in [5, i64::MAX] {
            let last = EventId { message_id: MessageId(7), epoch: 1, seq };
            assert_eq!(events(long_turn().subscribe_after(Some(last))).await, [end()]);
        }
    }

    /// Stored text is joined under the last of its numbers. A subscriber may already have received part of it from the
    /// process that runs the turn.
    #[tokio::test]
    async fn a_copied_log_continues_at_the_subscribers_position() {
        let log = Arc::new(TurnLog::copy(MessageId(7), 1));
        let append = |seq: i64, event| log.append_stored(StoredEvent { seq, event, created_at: now() });
        let store = |seq: i64| append(seq, delta(0, 1));
        let numbers =
            |entries: Vec<LogEntry>| -> Vec<_> { entries.iter().map(|entry| entry.id().unwrap().seq).collect() };
        [0, 5, 9].into_iter().for_each(store);
        for (heard, missed) in [(0, vec![5, 9]), (3, vec![5, 9]), (5, vec![9])] {
            let mut reader = log.subscribe_after(Some(EventId { message_id: MessageId(7), epoch: 1, seq: heard }));
            assert_eq!(numbers(reader.next().await.unwrap()), missed);
        }
        let mut ahead = log.subscribe_after(Some(EventId { message_id: MessageId(7), epoch: 1, seq: 12 }));
        assert!(ahead.read(snapshot).is_none());
        store(14);
        assert_eq!(numbers(ahead.next().await.unwrap()), [14]);

        append(1 << 32, end());
        log.end();
        assert_eq!(events(ahead).await, [end()]);
        let late = events(log.subscribe_after(None)).await;
        assert!(matches!(&late[..], [ChatEvent::Snapshot(_), ChatEvent::MessageEnd(_)]), "{late:?}");
    }

    /// Two operations are slow for a long answer: making its snapshot, and encoding the snapshot.
    #[tokio::test]
    async fn a_turn_does_not_wait_for_a_snapshot() {
        let log = long_turn();
        let mut behind = log.subscribe_from_start();
        let made = behind.read(|progress, id| {
            assert!(log.state.try_lock().is_some(), "the record is locked while a snapshot is made");
            snapshot(progress, id)
        });
        let [entry] = &made.unwrap()[..] else { panic!("a snapshot alone") };
        assert!(matches!(entry.event(), ChatEvent::Snapshot(_)));
        entry.encoded(WireFormat::ChatEvents, || {
            assert!(log.state.try_lock().is_some(), "the record is locked while an event is written");
            Bytes::new()
        });
    }
}
