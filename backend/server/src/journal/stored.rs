//! The stored copy of a turn's events, text deltas joined. It says what a turn had written when its process died.

use std::borrow::Borrow;
use tallybook_database::{Database, Transaction, now, select};

use chrono::{DateTime, Utc};
use tallybook_protocol::{ChatEvent, MessageId, PlayedEvent, RawJson, Reasoning};

use super::{
    EventId, Stored, Words,
    limits::{MAX_BYTES_PER_INSERT, MAX_EVENTS_PER_INSERT, MAX_STORED_BYTES_PER_READ, MAX_STORED_EVENTS_PER_READ},
};

const INSERT_EVENTS: &str = "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) VALUES ";

const LIST_WORDS: &str = "SELECT event, data FROM journal_events \
     WHERE message_id = ? AND event IN ('content_delta', 'reasoning_delta', 'plan', 'plan_step', 'snapshot') \
     ORDER BY epoch, seq";

const FIND_LAST_THOUGHT: &str = "SELECT COALESCE(MAX(seq), -1) FROM journal_events \
     WHERE message_id = ? AND epoch = ? AND event = 'reasoning_delta'";

const LIST_SIZES_AFTER: &str = "SELECT seq, CAST(OCTET_LENGTH(data) AS SIGNED) FROM journal_events \
     WHERE message_id = ? AND epoch = ? AND seq > ? ORDER BY seq LIMIT ?";

const LIST_BETWEEN: &str = "SELECT seq, event, data, created_at FROM journal_events \
     WHERE message_id = ? AND epoch = ? AND seq > ? AND seq <= ? ORDER BY seq";

const LIST_SIZES_FROM: &str = "SELECT epoch, seq, CAST(OCTET_LENGTH(data) AS SIGNED) FROM journal_events \
     WHERE message_id = ? AND (epoch > ? OR (epoch = ? AND seq > ?)) ORDER BY epoch, seq LIMIT ?";

const LIST_RAW: &str = "SELECT epoch, seq, event, data, created_at FROM journal_events \
     WHERE message_id = ? AND (epoch > ? OR (epoch = ? AND seq > ?)) ORDER BY epoch, seq LIMIT ?";

// By the time of the events, which is indexed; a turn goes as a whole, so that none is played back by half.
const LIST_ENDED_BEFORE: &str = "SELECT DISTINCT j.message_id FROM journal_events j \
     JOIN messages m ON m.id = j.message_id \
     WHERE j.created_at < ? AND m.completed_at < ? AND m.status <> 'streaming' LIMIT ?";

// Should the turn go on at this very moment, what it writes now stays.
const DELETE_OF_TURN: &str = "DELETE FROM journal_events WHERE message_id = ? AND created_at < ?";

const FIND_LAST: &str = "SELECT MAX(seq) FROM journal_events WHERE message_id = ? AND epoch = ?";

/// An event as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct EncodedEvent {
    name: &'static str,
    data: String,
}

impl EncodedEvent {
    /// Writes an event as JSON.
    pub(crate) fn of(event: &ChatEvent) -> sqlx::Result<Self> {
        let data = event.data().map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        Ok(Self { name: event.name(), data })
    }

    /// Returns the JSON, for readers.
    pub(super) fn into_json(self) -> String {
        self.data
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }
}

/// Stores events, each under the number of the last live event that it holds.
pub(crate) async fn create_events<E>(tx: &mut Transaction, mut events: &[(EventId, E)]) -> sqlx::Result<()>
where
    E: Borrow<EncodedEvent>,
{
    let now = now();
    while !events.is_empty() {
        let sizes = events.iter().map(|(_, event)| event.borrow().bytes());
        let (together, rest) = events.split_at(fitting(sizes.clone()));
        tx.check_statement_size(sizes.take(together.len()).sum()).await?;
        let mut insert = tx.query(INSERT_EVENTS);
        insert.push_rows(together, |row, (id, event)| {
            let event: &EncodedEvent = event.borrow();
            row.push(id.message_id).push(id.epoch).push(id.seq);
            row.push(event.name).push(&event.data).push(now);
        });
        insert.execute().await?;
        events = rest;
    }
    Ok(())
}

/// Stores an event.
pub(crate) async fn create_event(tx: &mut Transaction, id: EventId, event: &EncodedEvent) -> sqlx::Result<()> {
    create_events(tx, &[(id, event)]).await
}

/// How many of the next events, given by their sizes, go into one statement: one at least, however large it is.
fn fitting(sizes: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fitting = sizes.take(MAX_EVENTS_PER_INSERT).take_while(|size| {
        bytes += size;
        bytes <= MAX_BYTES_PER_INSERT
    });
    fitting.count().max(1)
}

/// The words of a turn as far as they were stored.
pub(crate) async fn find_words(db: &Database, message_id: MessageId) -> sqlx::Result<Words> {
    joined(db.reader().query(select!(LIST_WORDS)).bind(message_id).fetch_all().await?)
}

/// Finds out how much of what a turn writes under a lease is stored, and the number of the last event that is, as a transaction
/// sees it.
pub(crate) async fn find_stored(
    tx: &mut Transaction,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<(Stored, Option<i64>)> {
    let last_seq = find_last_seq_in(tx, message_id, epoch).await?;
    let rows = tx.query(LIST_WORDS).bind(message_id).fetch_all().await?;
    let text_bytes = joined(rows)?.content.len();
    let last_thought = tx.query(FIND_LAST_THOUGHT).bind(message_id).bind(epoch);
    Ok((Stored { text_bytes, reasoning_seq: last_thought.fetch_value().await? }, last_seq))
}

/// As [`find_last_seq`], as a transaction sees it.
pub(crate) async fn find_last_seq_in(
    tx: &mut Transaction,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<Option<i64>> {
    let query = tx.query(FIND_LAST).bind(message_id).bind(epoch);
    query.fetch_value().await
}

fn joined(rows: Vec<(String, String)>) -> sqlx::Result<Words> {
    let mut words = Words::default();
    for (event, data) in rows {
        match parse(&event, &data)? {
            ChatEvent::ContentDelta(delta) => words.content.push_str(&delta.delta),
            ChatEvent::ReasoningDelta(delta) => {
                match words.reasoning.iter_mut().find(|known| known.reasoning_id == delta.reasoning_id) {
                    Some(known) => known.apply(&delta),
                    None => words.reasoning.push(Reasoning::begun_by(&delta)),
                }
            }
            ChatEvent::Plan(plan) => words.plan = Some(plan),
            ChatEvent::PlanStep(changed) => {
                if let Some(plan) = &mut words.plan {
                    plan.apply(&changed);
                }
            }
            // A turn that goes on begins its new record with what it keeps of the old one.
            ChatEvent::Snapshot(snapshot) => {
                words = Words { content: snapshot.content, reasoning: snapshot.reasoning, plan: snapshot.plan };
            }
            _ => {}
        }
    }
    Ok(words)
}

/// An event as it was stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredEvent {
    pub(super) seq: i64,
    pub(super) event: ChatEvent,
    pub(super) created_at: DateTime<Utc>,
}

/// What a turn sent under a lease after an event: as much of it as is read at a time, and nothing only when there is nothing.
pub(crate) async fn list_events_after(db: &Database, last: EventId) -> sqlx::Result<Vec<StoredEvent>> {
    let EventId { message_id, epoch, seq } = last;
    let sizes: Vec<(i64, i64)> = {
        let query = db.reader().query(select!(LIST_SIZES_AFTER)).bind(message_id).bind(epoch).bind(seq);
        query.bind(MAX_STORED_EVENTS_PER_READ).fetch_all().await
    }?;
    let Some(end) = end_of_read(&sizes) else { return Ok(Vec::new()) };
    let rows: Vec<(i64, String, String, DateTime<Utc>)> = {
        db.reader().query(select!(LIST_BETWEEN)).bind(message_id).bind(epoch).bind(seq).bind(end).fetch_all().await
    }?;
    let stored = |(seq, event, data, created_at): (i64, String, String, DateTime<Utc>)| {
        Ok(StoredEvent { seq, event: parse(&event, &data)?, created_at })
    };
    rows.into_iter().map(stored).collect()
}

/// An event as it was stored, unread.
#[derive(Clone, Debug)]
pub(crate) struct RawEvent {
    pub(crate) id: EventId,
    pub(crate) event: String,
    pub(crate) data: String,
    pub(crate) created_at: DateTime<Utc>,
}

impl RawEvent {
    /// To be played.
    pub(crate) fn played(self) -> PlayedEvent {
        PlayedEvent { event: self.event, data: RawJson::from_text(&self.data), at: self.created_at }
    }
}

/// What a turn sent under any lease after an event: as much of it as is read at a time, and nothing only when there is
/// nothing.
pub(crate) async fn list_raw_events_after(db: &Database, last: EventId) -> sqlx::Result<Vec<RawEvent>> {
    let EventId { message_id, epoch, seq } = last;
    let sizes: Vec<(i32, i64, i64)> = {
        let query = db.reader().query(select!(LIST_SIZES_FROM)).bind(message_id).bind(epoch).bind(epoch).bind(seq);
        query.bind(MAX_STORED_EVENTS_PER_READ).fetch_all().await
    }?;
    // Numbered in their order, since numbers begin anew under each lease.
    let numbered: Vec<(i64, i64)> = (1..).zip(sizes.into_iter().map(|(_, _, bytes)| bytes)).collect();
    let Some(count) = end_of_read(&numbered) else { return Ok(Vec::new()) };
    let rows: Vec<(i32, i64, String, String, DateTime<Utc>)> = {
        let query = db.reader().query(select!(LIST_RAW)).bind(message_id).bind(epoch).bind(epoch).bind(seq);
        query.bind(count).fetch_all().await
    }?;
    let raw = |(epoch, seq, event, data, created_at)| RawEvent {
        id: EventId { message_id, epoch, seq },
        event,
        data,
        created_at,
    };
    Ok(rows.into_iter().map(raw).collect())
}

/// The number of the last of these events, given with their sizes, that is read at once. One at least is read, however
/// large it is.
fn end_of_read(sizes: &[(i64, i64)]) -> Option<i64> {
    let mut bytes = 0;
    let fitting = sizes.iter().take_while(|(_, size)| {
        let is_first = bytes == 0;
        bytes += size;
        is_first || bytes <= MAX_STORED_BYTES_PER_READ
    });
    fitting.last().map(|(seq, _)| *seq)
}

fn parse(event: &str, data: &str) -> sqlx::Result<ChatEvent> {
    ChatEvent::parse(event, data).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The number of the last event stored of a turn under a lease.
pub(crate) async fn find_last_seq(db: &Database, message_id: MessageId, epoch: i32) -> sqlx::Result<Option<i64>> {
    db.reader().query(select!(FIND_LAST)).bind(message_id).bind(epoch).fetch_value().await
}

/// Deletes what is stored of at most `limit` turns that ended before `time`. Gives how many turns that were.
pub(crate) async fn delete_events_before(db: &Database, time: DateTime<Utc>, limit: u32) -> sqlx::Result<usize> {
    let turns: Vec<MessageId> =
        { db.reader().query(select!(LIST_ENDED_BEFORE)).bind(time).bind(time).bind(limit).fetch_values().await }?;
    for &message_id in &turns {
        db.writer().query(DELETE_OF_TURN).bind(message_id).bind(time).execute().await?;
    }
    Ok(turns.len())
}

#[cfg(test)]
mod tests {
    use super::{
        super::limits::{MAX_BYTES_PER_INSERT, MAX_EVENTS_PER_INSERT, MAX_STORED_BYTES_PER_READ},
        end_of_read, fitting,
    };

    #[test]
    fn so_much_is_stored_at_a_time_and_one_event_at_least() {
        let half = MAX_BYTES_PER_INSERT / 2;
        assert_eq!(fitting([3 * half, 1].into_iter()), 1);
        assert_eq!(fitting([half, half, 1].into_iter()), 2);
        assert_eq!(fitting([1; 2 * MAX_EVENTS_PER_INSERT].into_iter()), MAX_EVENTS_PER_INSERT);
    }

    #[test]
    fn so_much_is_read_at_a_time_and_one_event_at_least() {
        let half = MAX_STORED_BYTES_PER_READ / 2;
        assert_eq!(end_of_read(&[]), None);
        assert_eq!(end_of_read(&[(3, 2 * MAX_STORED_BYTES_PER_READ), (4, 1)]), Some(3));
        assert_eq!(end_of_read(&[(3, half), (7, half), (9, 1)]), Some(7));
    }
}
