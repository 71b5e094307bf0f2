//! The stored copy of a turn's events, text deltas joined. It says what a turn had written when its process died.

use tallybook_protocol::{ChatEvent, ContentDelta};

use super::EventId;
use crate::db::{Database, Transaction, now, on_db, on_tx};

const INSERT_EVENT: &str =
    "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) VALUES (?, ?, ?, ?, ?, ?)";

const LIST_TEXT: &str =
    "SELECT data FROM journal_events WHERE message_id = ? AND event = 'content_delta' ORDER BY epoch, seq";

const FIND_LAST: &str = "SELECT MAX(seq) FROM journal_events WHERE message_id = ? AND epoch = ?";

/// Stores an event under the number of the last live event that it holds.
pub(crate) async fn create_event(tx: &mut Transaction, id: EventId, event: &ChatEvent) -> Result<(), sqlx::Error> {
    let data = event.data().map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
    on_tx!(tx, |connection| {
        sqlx::query(INSERT_EVENT)
            .bind(id.message_id)
            .bind(id.epoch)
            .bind(id.seq)
            .bind(event.name())
            .bind(data)
            .bind(now())
            .execute(connection)
            .await
            .map(|_| ())
    })
}

/// The text of a turn as far as it was stored.
pub(crate) async fn find_text(tx: &mut Transaction, message_id: i64) -> Result<String, sqlx::Error> {
    let rows: sqlx::Result<Vec<String>> =
        on_tx!(tx, |connection| sqlx::query_scalar(LIST_TEXT).bind(message_id).fetch_all(connection).await);
    rows?
        .iter()
        .map(|data| serde_json::from_str::<ContentDelta>(data).map(|delta| delta.delta))
        .collect::<Result<_, _>>()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The number of the last event stored of a turn under a lease.
pub(crate) async fn find_last_seq(db: &Database, message_id: i64, epoch: i32) -> Result<Option<i64>, sqlx::Error> {
    on_db!(db, |pool| sqlx::query_scalar(FIND_LAST).bind(message_id).bind(epoch).fetch_one(pool).await)
}
