//! SQL for the stored copy of a turn's events, with deltas joined. After a crash it shows what the turn had written.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{ChatEvent, MessageId, PlayedEvent, RawJson, Reasoning};

use crate::journal::{EventId, PartialAnswer};

/// Maximum number of stored events per read.
const MAX_STORED_EVENTS_PER_READ: u32 = 200;

/// Maximum size of the stored events in one read, in bytes. A single larger event is read alone.
const MAX_STORED_BYTES_PER_READ: i64 = 1024 * 1024;

/// Position up to which a turn's text and reasoning are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Length of the stored text of the answer, in bytes.
    pub text_bytes: usize,
    /// Sequence number of the last stored reasoning event; -1 if there is none.
    pub reasoning_seq: i64,
}

const LIST_PARTIAL: &str = "SELECT event, data FROM journal_events \
     WHERE message_id = ? AND event IN ('content_delta', 'reasoning_delta', 'plan', 'plan_step', 'snapshot') \
     ORDER BY epoch, seq";

const FIND_LAST: &str = "SELECT MAX(seq) FROM journal_events WHERE message_id = ? AND epoch = ?";

/// An event in its stored form.
#[derive(Clone, Debug)]
pub struct EncodedEvent {
    name: &'static str,
    data: String,
}

impl EncodedEvent {
    /// Serializes an event as JSON. Fails with `Encode` if that is not possible.
    pub fn of(event: &ChatEvent) -> sqlx::Result<Self> {
        let data = event.data().map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        Ok(Self { name: event.name(), data })
    }

    /// Returns the JSON, for subscribers.
    pub(crate) fn into_json(self) -> String {
        self.data
    }

    /// Returns the length of the JSON, in bytes.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }
}

/// Stores events. The ID of an event that joins several live ones has the sequence number of the last of them.
pub async fn create_events<E>(tx: &mut Transaction, events: &[(EventId, E)]) -> sqlx::Result<()>
where
    E: Borrow<EncodedEvent> + Sync,
{
    let now = now();
    tx.insert_rows(
        "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) VALUES ",
        events,
        |(_, event)| event.borrow().bytes(),
        |row, (id, event)| {
            let event: &EncodedEvent = event.borrow();
            row.push(id.message_id).push(id.epoch).push(id.seq);
            row.push(event.name).push(&event.data).push(now);
        },
    )
    .await
}

/// Stores one event.
pub async fn create_event(tx: &mut Transaction, id: EventId, event: &EncodedEvent) -> sqlx::Result<()> {
    create_events(tx, &[(id, event)]).await
}

/// Returns the stored text, reasoning and plan of a turn.
pub async fn load_partial(db: &Database, message_id: MessageId) -> sqlx::Result<PartialAnswer> {
    joined(db.reader().query(select!(LIST_PARTIAL)).bind(message_id).fetch_all().await?)
}

/// Returns the position up to which a turn's text and reasoning are stored, as the transaction sees it. Also returns
/// the sequence number of the last event stored under this epoch, or `None` if there is none.
pub async fn find_stored(
    tx: &mut Transaction,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<(Stored, Option<i64>)> {
    let last_seq = find_last_seq_in(tx, message_id, epoch).await?;
    let rows = tx.query(LIST_PARTIAL).bind(message_id).fetch_all().await?;
    let text_bytes = joined(rows)?.content.len();
    let last_reasoning_seq = tx
        .query(
            "SELECT COALESCE(MAX(seq), -1) FROM journal_events \
             WHERE message_id = ? AND epoch = ? AND event = 'reasoning_delta'",
        )
        .bind(message_id)
        .bind(epoch);
    Ok((Stored { text_bytes, reasoning_seq: last_reasoning_seq.fetch_value().await? }, last_seq))
}

/// Like [`find_last_seq`], but reads within a transaction.
pub async fn find_last_seq_in(tx: &mut Transaction, message_id: MessageId, epoch: i32) -> sqlx::Result<Option<i64>> {
    let query = tx.query(FIND_LAST).bind(message_id).bind(epoch);
    query.fetch_value().await
}

fn joined(rows: Vec<(String, String)>) -> sqlx::Result<PartialAnswer> {
    let mut partial = PartialAnswer::default();
    for (event, data) in rows {
        match parse(&event, &data)? {
            ChatEvent::ContentDelta(delta) => partial.content.push_str(&delta.delta),
            ChatEvent::ReasoningDelta(delta) => {
                match partial.reasoning.iter_mut().find(|known| known.reasoning_id == delta.reasoning_id) {
                    Some(known) => known.apply(&delta),
                    None => partial.reasoning.push(Reasoning::started_by(&delta)),
                }
            }
            ChatEvent::Plan(plan) => partial.plan = Some(plan),
            ChatEvent::PlanStep(changed) => {
                if let Some(plan) = &mut partial.plan {
                    plan.apply(&changed);
                }
            }
            // When a turn resumes, its new record begins with a snapshot of the part of the old record that it keeps.
            ChatEvent::Snapshot(snapshot) => {
                partial =
                    PartialAnswer { content: snapshot.content, reasoning: snapshot.reasoning, plan: snapshot.plan };
            }
            _ => {}
        }
    }
    Ok(partial)
}

/// An event that was read from the database.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub(crate) seq: i64,
    pub(crate) event: ChatEvent,
    pub(crate) created_at: DateTime<Utc>,
}

/// Lists the stored events of a turn after the event `last`, under the same epoch and up to the limits of one read. An
/// empty list means that no later events are stored.
pub async fn list_events_after(db: &Database, last: EventId) -> sqlx::Result<Vec<StoredEvent>> {
    let EventId { message_id, epoch, seq } = last;
    let sizes: Vec<(i64, i64)> = db
        .reader()
        .query(select!(
            "SELECT seq, CAST(OCTET_LENGTH(data) AS SIGNED) FROM journal_events \
             WHERE message_id = ? AND epoch = ? AND seq > ? ORDER BY seq LIMIT ?"
        ))
        .bind(message_id)
        .bind(epoch)
        .bind(seq)
        .bind(MAX_STORED_EVENTS_PER_READ)
        .fetch_all()
        .await?;
    let Some(end) = page_end(&sizes) else { return Ok(Vec::new()) };
    let rows: Vec<(i64, String, String, DateTime<Utc>)> = db
        .reader()
        .query(select!(
            "SELECT seq, event, data, created_at FROM journal_events \
             WHERE message_id = ? AND epoch = ? AND seq > ? AND seq <= ? ORDER BY seq"
        ))
        .bind(message_id)
        .bind(epoch)
        .bind(seq)
        .bind(end)
        .fetch_all()
        .await?;
    let stored = |(seq, event, data, created_at): (i64, String, String, DateTime<Utc>)| {
        Ok(StoredEvent { seq, event: parse(&event, &data)?, created_at })
    };
    rows.into_iter().map(stored).collect()
}

/// A stored event whose JSON is not parsed.
#[derive(Clone, Debug)]
pub struct RawEvent {
    /// ID of the event.
    pub id: EventId,
    /// Name of the event.
    pub event: String,
    /// JSON of the event.
    pub data: String,
    /// Time at which it was stored.
    pub created_at: DateTime<Utc>,
}

impl RawEvent {
    /// Converts the event for playback.
    pub fn played(self) -> PlayedEvent {
        PlayedEvent { event: self.event, data: RawJson::from_text(&self.data), at: self.created_at }
    }
}

/// Lists the stored events of a turn after the event `last`, under the same and later epochs, up to the limits of one
/// read. An empty list means that no later events are stored.
pub async fn list_raw_events_after(db: &Database, last: EventId) -> sqlx::Result<Vec<RawEvent>> {
    let EventId { message_id, epoch, seq } = last;
    let sizes: Vec<(i32, i64, i64)> = db
        .reader()
        .query(select!(
            "SELECT epoch, seq, CAST(OCTET_LENGTH(data) AS SIGNED) FROM journal_events \
             WHERE message_id = ? AND (epoch > ? OR (epoch = ? AND seq > ?)) ORDER BY epoch, seq LIMIT ?"
        ))
        .bind(message_id)
        .bind(epoch)
        .bind(epoch)
        .bind(seq)
        .bind(MAX_STORED_EVENTS_PER_READ)
        .fetch_all()
        .await?;
    // Numbered by position, since sequence numbers restart under each epoch.
    let numbered: Vec<(i64, i64)> = (1..).zip(sizes.into_iter().map(|(_, _, bytes)| bytes)).collect();
    let Some(count) = page_end(&numbered) else { return Ok(Vec::new()) };
    let rows: Vec<(i32, i64, String, String, DateTime<Utc>)> = db
        .reader()
        .query(select!(
            "SELECT epoch, seq, event, data, created_at FROM journal_events \
             WHERE message_id = ? AND (epoch > ? OR (epoch = ? AND seq > ?)) ORDER BY epoch, seq LIMIT ?"
        ))
        .bind(message_id)
        .bind(epoch)
        .bind(epoch)
        .bind(seq)
        .bind(count)
        .fetch_all()
        .await?;
    let raw = |(epoch, seq, event, data, created_at)| RawEvent {
        id: EventId { message_id, epoch, seq },
        event,
        data,
        created_at,
    };
    Ok(rows.into_iter().map(raw).collect())
}

/// Returns the number of the last of these events (number, bytes) that fits into one read, or `None` if there are none.
/// At least one event is read, however large it is.
fn page_end(sizes: &[(i64, i64)]) -> Option<i64> {
    let mut bytes = 0;
    let batch_len = sizes.iter().take_while(|(_, size)| {
        let is_first = bytes == 0;
        bytes += size;
        is_first || bytes <= MAX_STORED_BYTES_PER_READ
    });
    batch_len.last().map(|(seq, _)| *seq)
}

fn parse(event: &str, data: &str) -> sqlx::Result<ChatEvent> {
    ChatEvent::parse(event, data).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Returns the number of the last event stored for a turn under this epoch, or `None` if there is none.
pub async fn find_last_seq(db: &Database, message_id: MessageId, epoch: i32) -> sqlx::Result<Option<i64>> {
    db.reader().query(select!(FIND_LAST)).bind(message_id).bind(epoch).fetch_value().await
}

/// Deletes the stored events of at most `limit` turns that ended before `time`. Returns the number of turns.
pub async fn delete_events_before(db: &Database, time: DateTime<Utc>, limit: u32) -> sqlx::Result<usize> {
    // Filters by the events' time, which is indexed. A turn's events are deleted together, so that no turn can be
    // played back in part.
    let turns: Vec<MessageId> = db
        .reader()
        .query(select!(
            "SELECT DISTINCT j.message_id FROM journal_events j \
             JOIN messages m ON m.id = j.message_id \
             WHERE j.created_at < ? AND m.completed_at < ? AND m.status <> 'streaming' LIMIT ?"
        ))
        .bind(time)
        .bind(time)
        .bind(limit)
        .fetch_values()
        .await?;
    for &message_id in &turns {
        // If the turn resumes at this very moment, the events that it writes now are kept.
        db.writer()
            .query("DELETE FROM journal_events WHERE message_id = ? AND created_at < ?")
            .bind(message_id)
            .bind(time)
            .execute()
            .await?;
    }
    Ok(turns.len())
}

#[cfg(test)]
mod tests {
    use crate::journal::stored::{MAX_STORED_BYTES_PER_READ, page_end};

    #[test]
    fn a_read_is_limited_and_has_at_least_one_event() {
        let half = MAX_STORED_BYTES_PER_READ / 2;
        assert_eq!(page_end(&[]), None);
        assert_eq!(page_end(&[(3, 2 * MAX_STORED_BYTES_PER_READ), (4, 1)]), Some(3));
        assert_eq!(page_end(&[(3, half), (7, half), (9, 1)]), Some(7));
    }
}
