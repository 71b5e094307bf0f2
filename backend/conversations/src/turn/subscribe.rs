//! Subscribes to the events of a turn, wherever it runs, and plays back a finished turn from its stored journal.
//!
//! For a turn of another process, one task polls the stored journal four times a second, and adds the new events to a
//! copy of the log. All subscribers in this process share the copy.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tallybook_accounts::UserId;
use tallybook_protocol::{MessageId, MessageStatus, Playback};
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    journal::{
        EventId, TurnLog, TurnSubscription,
        stored::{self, RawEvent},
    },
    service::ConversationService,
    store::{
        ConversationId, messages,
        rows::{ConversationRow, StateRow},
        turns::TurnRows,
    },
    turn::finish::read_end,
};

/// Result of subscribing to a conversation.
#[derive(Debug)]
pub enum EventsAnswer {
    /// Events of a running turn, or the end of a finished one.
    Turn(TurnSubscription),
    /// No turn runs, and the client has missed nothing.
    Nothing,
}

impl ConversationService {
    /// Subscribes to the running turn, after the event `last`. If none runs, subscribes to the end of the turn that
    /// `last` belongs to, unless the client has received that end.
    pub async fn events(&self, user: UserId, uuid: Uuid, last: Option<EventId>) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        if let Some(message_id) = row.running_message_id() {
            if let Some(log) = context.journal.find(message_id) {
                return Ok(EventsAnswer::Turn(log.subscribe_after(last)));
            }
            return subscribe_stored(context, row.id, message_id, last).await;
        }
        match last {
            Some(id) if !is_caught_up(context, row.id, id).await? => {
                subscribe_stored(context, row.id, id.message_id, last).await
            }
            _ => Ok(EventsAnswer::Nothing),
        }
    }
}

/// Subscribes to the turn of a message that was sent before.
pub(crate) async fn subscribe_duplicate(
    context: &Arc<Context>,
    row: &ConversationRow,
    rows: TurnRows,
) -> Result<EventsAnswer, ServiceError> {
    match context.journal.find(rows.assistant_message_id) {
        Some(log) => Ok(EventsAnswer::Turn(log.subscribe_from_start())),
        None => subscribe_stored(context, row.id, rows.assistant_message_id, None).await,
    }
}

/// Subscribes to a turn that does not run in this process: to the events that its own process stores, or to its end.
pub(crate) async fn subscribe_stored(
    context: &Arc<Context>,
    conversation_id: ConversationId,
    message_id: MessageId,
    last: Option<EventId>,
) -> Result<EventsAnswer, ServiceError> {
    let Some(StateRow { status, epoch }) = messages::find_state(&context.db, conversation_id, message_id).await? else {
        return Ok(EventsAnswer::Nothing);
    };
    let read = async {
        if status == MessageStatus::Streaming {
            tail(context, conversation_id, message_id, epoch).await
        } else {
            read_end(&context.db, conversation_id, message_id, epoch).await
        }
    };
    let log = context.journal.find_or_read(message_id, epoch, read).await?;
    Ok(EventsAnswer::Turn(log.subscribe_after(last)))
}

/// Returns `true` if a client that received `last` as its last event has received all events of that turn, which no
/// longer runs.
async fn is_caught_up(context: &Context, conversation_id: ConversationId, last: EventId) -> sqlx::Result<bool> {
    let Some(StateRow { epoch, .. }) = messages::find_state(&context.db, conversation_id, last.message_id).await?
    else {
        return Ok(true);
    };
    if epoch != last.epoch {
        // The turn was resumed since, and has ended again.
        return Ok(epoch < last.epoch);
    }
    // A number beyond the last one was never sent, so a client that names it has not received the end.
    let stored_seq = stored::find_last_seq(&context.db, last.message_id, last.epoch).await?;
    Ok(stored_seq.is_none_or(|seq| seq == last.seq))
}

/// Poll interval of the stored journal.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Returns a copy of the turn's log with all events that are stored so far. The copy grows until the turn ends, as long
/// as a subscriber holds it.
async fn tail(
    context: &Arc<Context>,
    conversation_id: ConversationId,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<Arc<TurnLog>> {
    let log = Arc::new(TurnLog::copy(message_id, epoch));
    let tail = Tail { conversation_id, message_id, epoch, log: Arc::downgrade(&log) };
    if tail.read(context, &log).await? {
        context.spawn_until_draining(tail.keep_reading(Arc::clone(context)));
    }
    Ok(log)
}

/// The task that fills a copy. When it ends, for any reason, the streams of the copy's subscribers end. If they have
/// not received the end of the turn, they reconnect.
struct Tail {
    conversation_id: ConversationId,
    message_id: MessageId,
    epoch: i32,
    log: Weak<TurnLog>,
}

impl Tail {
    async fn keep_reading(self, context: Arc<Context>) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // Without subscribers the copy no longer exists.
            let Some(log) = self.log.upgrade() else { return };
            match self.read(&context, &log).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "a turn's stored journal could not be read");
                    return;
                }
            }
        }
    }

    /// Reads all events that were stored since the last read. Returns `false` if no more events will come.
    async fn read(&self, context: &Context, log: &TurnLog) -> sqlx::Result<bool> {
        let Self { message_id, epoch, .. } = *self;
        loop {
            // The state is read before the events: if the turn is over by then, this read gets all remaining events.
            let state = messages::find_state(&context.db, self.conversation_id, message_id).await?;
            let last = EventId { message_id, epoch, seq: log.next_seq() - 1 };
            let events = stored::list_events_after(&context.db, last).await?;
            if events.is_empty() {
                return Ok(state == Some(StateRow { status: MessageStatus::Streaming, epoch }));
            }
            for event in events {
                log.append_stored(event);
            }
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        if let Some(log) = self.log.upgrade() {
            log.end();
        }
    }
}

impl ConversationService {
    /// Returns the events of a turn after `after`, one page at a time. Starts at the beginning if `after` is `None` or
    /// belongs to another message. Fails with `TurnRunning` while the turn runs.
    pub async fn playback(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        after: Option<EventId>,
    ) -> Result<Playback, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let message = messages::find_message(&context.db, row.id, message_id).await?;
        if message.ok_or(ServiceError::NoSuchMessage)?.status == MessageStatus::Streaming {
            return Err(ServiceError::TurnRunning);
        }
        let beginning = EventId { message_id, epoch: 0, seq: -1 };
        let after = after.filter(|after| after.message_id == message_id).unwrap_or(beginning);
        let events = stored::list_raw_events_after(&context.db, after).await?;
        let next = events.last().map(|last| last.id.to_string());
        Ok(Playback { items: events.into_iter().map(RawEvent::played).collect(), next })
    }
}

/// Twenty subscribers of a long answer read the first batch and then stop. They share one copy of it, however they
/// subscribed.
#[cfg(test)]
mod tests {
    use std::{cell::Cell, ptr, time::Duration};

    use bytes::Bytes;
    use futures_util::future::join_all;
    use tallybook_accounts::UserId;
    use tallybook_database::Transaction;
    use tallybook_protocol::{ChatEvent, ContentDelta, MessageStatus};

    use crate::{
        journal::{LogEntry, WireFormat, stored::EncodedEvent},
        store::turns::{TurnEnd, TurnRows, end_turn},
        turn::{
            subscribe::{EventId, EventsAnswer, TurnSubscription, stored},
            testing::Fixture,
        },
    };

    const PORTION: usize = 64 * 1024;
    const PORTIONS: usize = 128;

    type Reader = (TurnSubscription, Vec<LogEntry>);

    fn delta(portion: usize) -> ChatEvent {
        let offset = i64::try_from(portion * PORTION).unwrap();
        ChatEvent::ContentDelta(ContentDelta { offset, delta: "x".repeat(PORTION) })
    }

    fn id(rows: TurnRows, seq: i64) -> EventId {
        EventId { message_id: rows.assistant_message_id, epoch: rows.epoch, seq }
    }

    async fn store(tx: &mut Transaction, rows: TurnRows, portion: usize) {
        let event = EncodedEvent::of(&delta(portion)).unwrap();
        stored::create_event(tx, id(rows, i64::try_from(portion).unwrap()), &event).await.unwrap();
    }

    async fn end(tx: &mut Transaction, rows: TurnRows) {
        let content = "x".repeat(PORTION * PORTIONS);
        let end = TurnEnd {
            content: &content,
            status: MessageStatus::Complete,
            error: None,
            error_code: None,
            stop_reason: None,
            active: Duration::ZERO,
        };
        assert!(end_turn(tx, rows.assistant_message_id, rows.epoch, end).await.unwrap());
    }

    async fn twenty_readers(fixture: &Fixture, last: Option<EventId>) -> Vec<Reader> {
        let (service, uuid) = (&fixture.service, fixture.uuid);
        // One task each, so that they subscribe from several threads.
        let readers = (0..20).map(|_| {
            let service = service.clone();
            tokio::spawn(async move {
                let answer = service.events(UserId::LOCAL, uuid, last).await.unwrap();
                let EventsAnswer::Turn(mut turn) = answer else { panic!("there is something to follow") };
                let entries = turn.next().await.unwrap();
                (turn, entries)
            })
        });
        join_all(readers).await.into_iter().map(Result::unwrap).collect()
    }

    /// Asserts that all readers hold the same event, and that it is encoded once. Returns the event.
    fn assert_one_copy(readers: &[Reader]) -> &ChatEvent {
        let written = Cell::new(0);
        let first = readers[0].1[0].event();
        for (_, entries) in readers {
            let [entry] = &entries[..] else { panic!("{} events", entries.len()) };
            assert!(ptr::eq(entry.event(), first));
            entry.encoded(WireFormat::ChatEvents, || {
                written.set(written.get() + 1);
                Bytes::new()
            });
        }
        assert_eq!(written.get(), 1);
        first
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn subscribers_of_a_turn_of_this_process_share_its_log() {
        let fixture = Fixture::set_up().await;
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        let log = fixture.service.context.journal.open(rows.assistant_message_id, rows.epoch);
        (0..PORTIONS).for_each(|portion| log.append(delta(portion)));
        let readers = twenty_readers(&fixture, None).await;
        let ChatEvent::Snapshot(snapshot) = assert_one_copy(&readers) else { panic!("a snapshot comes first") };
        assert_eq!(snapshot.content.len(), PORTION * PORTIONS);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn subscribers_that_return_after_the_end_share_one_log() {
        let fixture = Fixture::set_up().await;
        let (mut tx, rows) = fixture.begin_turn().await;
        store(&mut tx, rows, 0).await;
        end(&mut tx, rows).await;
        tx.commit().await.unwrap();
        let readers = twenty_readers(&fixture, Some(id(rows, -1))).await;
        let ChatEvent::MessageEnd(end) = assert_one_copy(&readers) else { panic!("the end alone") };
        assert_eq!(end.content.len(), PORTION * PORTIONS);
    }

    /// One task serves all of them, too. It ends with the last of them.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn subscribers_of_another_processs_turn_share_one_log() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (mut tx, rows) = fixture.begin_turn().await;
        for portion in 0..PORTIONS - 1 {
            store(&mut tx, rows, portion).await;
        }
        tx.commit().await.unwrap();
        let tasks = context.tasks.len();
        let mut readers = twenty_readers(&fixture, None).await;
        assert_eq!(context.tasks.len(), tasks + 1);
        let ChatEvent::Snapshot(snapshot) = assert_one_copy(&readers) else { panic!("a snapshot comes first") };
        assert_eq!(snapshot.content.len(), PORTION * (PORTIONS - 1));

        let mut tx = context.db.begin().await.unwrap();
        store(&mut tx, rows, PORTIONS - 1).await;
        tx.commit().await.unwrap();
        for (turn, entries) in &mut readers {
            *entries = turn.next().await.unwrap();
        }
        assert_eq!(assert_one_copy(&readers), &delta(PORTIONS - 1));

        drop(readers);
        let ended = async {
            while context.tasks.len() > tasks {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ended)
            .await
            .expect("the journal is not read without subscribers");
    }
}
