//! A turn's way into the database. Every write first makes sure that the turn is still this process's own, and takes along
//! the words that are not yet stored.

use std::{slice, sync::Arc, time::Duration};

use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::super::store::turns::{self, TurnRows};
use crate::{
    db::{Database, Transaction},
    journal::{
        EventId, Stored, TurnLog,
        stored::{self, EncodedEvent},
    },
};

/// How often words are stored: so much of them, in time, may be lost when the process dies.
const WORDS_STORED_EVERY: Duration = Duration::from_millis(250);

/// Writes one turn.
pub(super) struct TurnWriter {
    db: Database,
    log: Arc<TurnLog>,
    rows: TurnRows,
    /// How much of the words is stored; unknown after a write of which nobody heard whether it was committed. Held during
    /// a write, so that nothing is stored twice.
    stored: Mutex<Option<Stored>>,
}

/// A transaction that has stored the turn's words so far. Nothing lasts before [`Write::commit`].
pub(super) struct Write<'a> {
    pub(super) tx: Transaction,
    stored: MutexGuard<'a, Option<Stored>>,
    will_be_stored: Stored,
}

impl TurnWriter {
    pub(super) fn new(db: Database, log: Arc<TurnLog>, rows: TurnRows) -> Self {
        // What a turn that goes on had written before is stored already.
        let stored = Mutex::new(Some(log.all_words()));
        Self { db, log, rows, stored }
    }

    /// Where it writes.
    pub(super) fn db(&self) -> &Database {
        &self.db
    }

    /// The turn that it writes.
    pub(super) fn rows(&self) -> TurnRows {
        self.rows
    }

    /// The record that it stores.
    pub(super) fn log(&self) -> &TurnLog {
        &self.log
    }

    /// Begins a write. `None` when the turn has been ended by somebody else, or is gone: then nothing more may happen in it.
    pub(super) async fn begin(&self) -> sqlx::Result<Option<Write<'_>>> {
        let mut stored = self.stored.lock().await;
        let mut tx = self.db.begin().await?;
        if !turns::lock_turn(&mut tx, self.rows.assistant_message_id, self.rows.epoch).await? {
            return Ok(None);
        }
        // Unknown from here to the end of the commit.
        let is_stored = match stored.take() {
            Some(stored) => stored,
            None => stored::find_stored(&mut tx, self.rows.assistant_message_id, self.rows.epoch).await?,
        };
        let (events, will_be_stored) = self.log.unstored(is_stored);
        for (seq, event) in events {
            stored::create_event(&mut tx, self.id(seq), &EncodedEvent::of(&event)?).await?;
        }
        Ok(Some(Write { tx, stored, will_be_stored }))
    }

    /// Stores words as they come, until `stop`.
    pub(super) async fn store_words(&self, stop: &CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(WORDS_STORED_EVERY)).await.is_some() {
            if Some(self.log.all_words()) == *self.stored.lock().await {
                continue;
            }
            let stored = async {
                match self.begin().await? {
                    Some(write) => write.commit().await,
                    // The lease is looked after elsewhere.
                    None => Ok(()),
                }
            };
            if let Err(error) = stored.await {
                // The words stay in memory; a write that must not fail will say so.
                tracing::warn!(%error, "words could not be stored yet");
            }
        }
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.rows.assistant_message_id, epoch: self.rows.epoch, seq }
    }

    /// Stores an event under the number that it is about to be sent with.
    pub(super) async fn create_next_event(&self, tx: &mut Transaction, event: &EncodedEvent) -> sqlx::Result<()> {
        self.create_next_events(tx, slice::from_ref(event)).await
    }

    /// The same with several that are about to be sent one after another.
    pub(super) async fn create_next_events(&self, tx: &mut Transaction, events: &[EncodedEvent]) -> sqlx::Result<()> {
        for (seq, event) in (self.log.next_seq()..).zip(events) {
            stored::create_event(tx, self.id(seq), event).await?;
        }
        Ok(())
    }
}

impl Write<'_> {
    pub(super) async fn commit(mut self) -> sqlx::Result<()> {
        self.tx.commit().await?;
        *self.stored = Some(self.will_be_stored);
        Ok(())
    }
}

/// A place in the answer's text as the wire has it.
pub(super) fn wire_offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
