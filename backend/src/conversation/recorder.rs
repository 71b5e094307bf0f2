//! The recorder that stores a turn and sends it to whoever follows. What must be stored is stored first; text is sent at
//! once and stored joined, a few times a second.

use std::{sync::Arc, time::Duration};

use tallybook_protocol::{ChatEvent, ContentDelta, RawJson, ToolCallEnd, ToolCallStart};
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::repository::{
    calls,
    turns::{self, TurnRows},
};
use crate::{
    agent::{EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder},
    db::{Database, Transaction, now, retried},
    journal::{EventId, TurnLog, stored},
};

/// How much text, in time, may be lost when the process dies.
const TEXT_STORED_EVERY: Duration = Duration::from_millis(250);

/// A turn's way into the database. Every write takes along the text that is not yet stored.
pub(super) struct TurnWriter {
    db: Database,
    log: Arc<TurnLog>,
    rows: TurnRows,
    /// How many bytes of the answer are stored; unknown after a write of which nobody heard whether it was committed.
    /// Held during a write, so that no text is stored twice.
    stored_bytes: Mutex<Option<usize>>,
}

/// A transaction that has stored the turn's text so far. Nothing lasts before [`Write::commit`].
pub(super) struct Write<'a> {
    pub(super) tx: Transaction,
    stored_bytes: MutexGuard<'a, Option<usize>>,
    will_be_stored: usize,
}

impl TurnWriter {
    pub(super) fn new(db: Database, log: Arc<TurnLog>, rows: TurnRows) -> Self {
        // What a turn that goes on had written before is stored already.
        let stored_bytes = Mutex::new(Some(log.text_bytes()));
        Self { db, log, rows, stored_bytes }
    }

    /// Begins a write. Fails with `RowNotFound` when the turn has been ended by somebody else, or is gone.
    pub(super) async fn begin(&self) -> sqlx::Result<Write<'_>> {
        let mut stored_bytes = self.stored_bytes.lock().await;
        let mut tx = self.db.begin().await?;
        // Whoever finds the turn no longer its own writes nothing more, and so runs nothing more.
        if !turns::lock_turn(&mut tx, self.rows.assistant_message_id, self.rows.epoch).await? {
            return Err(sqlx::Error::RowNotFound);
        }
        // Unknown from here to the end of the commit.
        let offset = match stored_bytes.take() {
            Some(bytes) => bytes,
            None => stored::find_text(&self.db, self.rows.assistant_message_id).await?.len(),
        };
        let (delta, last_seq) = self.log.text_from(offset);
        let will_be_stored = offset + delta.len();
        if !delta.is_empty() {
            let event = ChatEvent::ContentDelta(ContentDelta { offset: wire_offset(offset), delta });
            stored::create_event(&mut tx, self.id(last_seq), &event).await?;
        }
        Ok(Write { tx, stored_bytes, will_be_stored })
    }

    /// Stores text as it comes, until `stop`.
    pub(super) async fn store_text(&self, stop: &CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(TEXT_STORED_EVERY)).await.is_some() {
            if Some(self.log.text_bytes()) == *self.stored_bytes.lock().await {
                continue;
            }
            let stored = async { self.begin().await?.commit().await };
            if let Err(error) = stored.await {
                // The text stays in memory; a write that must not fail will say so.
                tracing::warn!(%error, "text could not be stored yet");
            }
        }
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.rows.assistant_message_id, epoch: self.rows.epoch, seq }
    }

    /// Stores an event under the number that it is about to be sent with.
    pub(super) async fn create_next_event(&self, tx: &mut Transaction, event: &ChatEvent) -> sqlx::Result<()> {
        stored::create_event(tx, self.id(self.log.next_seq()), event).await
    }
}

impl Write<'_> {
    pub(super) async fn commit(mut self) -> sqlx::Result<()> {
        self.tx.commit().await?;
        *self.stored_bytes = Some(self.will_be_stored);
        Ok(())
    }
}

/// Takes down one turn.
pub(super) struct StoringRecorder<'a> {
    pub(super) writer: &'a TurnWriter,
}

impl StoringRecorder<'_> {
    fn send(&self, event: &ChatEvent) -> Result<(), RecordError> {
        self.writer.log.append(event).map_err(RecordError::new)
    }
}

impl TurnRecorder for StoringRecorder<'_> {
    async fn text(&mut self, delta: &str) -> Result<(), RecordError> {
        let offset = wire_offset(self.writer.log.text_bytes());
        self.send(&ChatEvent::ContentDelta(ContentDelta { offset, delta: delta.to_owned() }))
    }

    async fn tool_started(&mut self, call: &StartedToolCall<'_>) -> Result<i64, RecordError> {
        let writer = self.writer;
        let (started_at, offset) = (now(), wire_offset(writer.log.text_bytes()));
        let store = || async {
            let mut write = writer.begin().await?;
            let message_id = writer.rows.assistant_message_id;
            let key = calls::create_tool_call(&mut write.tx, message_id, call, offset, started_at).await?;
            let event = ChatEvent::ToolCallStart(ToolCallStart {
                tool_call_id: key,
                tool_name: call.request.name.clone(),
                input: RawJson::from_text(&call.request.input_text),
                offset,
            });
            writer.create_next_event(&mut write.tx, &event).await?;
            write.commit().await?;
            Ok::<_, sqlx::Error>((key, event))
        };
        let (key, event) = retried(store).await.map_err(RecordError::new)?;
        writer.log.append_at(&event, started_at).map_err(RecordError::new)?;
        Ok(key)
    }

    async fn tool_ended(&mut self, key: i64, end: &EndedToolCall) -> Result<(), RecordError> {
        let event = ChatEvent::ToolCallEnd(ToolCallEnd {
            tool_call_id: key,
            output: end.output.clone(),
            error: end.error.clone(),
            status: end.status,
            duration_ms: end.duration_ms,
        });
        let writer = self.writer;
        let store = || async {
            let mut write = writer.begin().await?;
            calls::end_tool_call(&mut write.tx, key, end).await?;
            writer.create_next_event(&mut write.tx, &event).await?;
            write.commit().await
        };
        retried(store).await.map_err(RecordError::new)?;
        self.send(&event)
    }

    async fn step_answered(&mut self, step: &StepRecord) -> Result<(), RecordError> {
        let writer = self.writer;
        let store = || async {
            let mut write = writer.begin().await?;
            calls::create_model_call(&mut write.tx, writer.rows.assistant_message_id, step).await?;
            write.commit().await
        };
        retried(store).await.map_err(RecordError::new)
    }
}

fn wire_offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
