//! The recorder that stores a turn and sends it to whoever follows. What must be stored is stored first; text is sent at
//! once and stored joined, a few times a second.

use std::{sync::Arc, time::Duration};

use tallybook_protocol::{ChatEvent, ContentDelta, RawJson, ToolCallEnd, ToolCallStart};
use tokio::time::Instant;

use super::repository::{calls, turns::TurnRows};
use crate::{
    agent::{EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder},
    db::{Database, Transaction, now},
    journal::{EventId, TurnLog, stored},
};

/// How much text, in time, may be lost when the process dies.
const TEXT_STORED_EVERY: Duration = Duration::from_millis(250);

/// Takes down one turn.
pub(super) struct StoringRecorder {
    db: Database,
    log: Arc<TurnLog>,
    rows: TurnRows,
    /// Bytes of the answer sent.
    sent_bytes: i64,
    /// The end of the answer that is not yet stored.
    unsaved: String,
    saved_at: Instant,
}

impl StoringRecorder {
    pub(super) fn new(db: Database, log: Arc<TurnLog>, rows: TurnRows) -> Self {
        Self { db, log, rows, sent_bytes: 0, unsaved: String::new(), saved_at: Instant::now() }
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.rows.assistant_message_id, epoch: self.rows.epoch, seq }
    }

    /// Stores the text that is not yet stored.
    async fn save_text(&mut self, tx: &mut Transaction) -> sqlx::Result<()> {
        self.saved_at = Instant::now();
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let delta = std::mem::take(&mut self.unsaved);
        let offset = self.sent_bytes - byte_count(&delta);
        let event = ChatEvent::ContentDelta(ContentDelta { offset, delta });
        stored::create_event(tx, self.id(self.log.next_seq() - 1), &event).await
    }

    /// Stores an event under the number that it is about to be sent with.
    async fn save_next(&self, tx: &mut Transaction, event: &ChatEvent) -> sqlx::Result<()> {
        stored::create_event(tx, self.id(self.log.next_seq()), event).await
    }
}

impl TurnRecorder for StoringRecorder {
    async fn text(&mut self, delta: &str) -> Result<(), RecordError> {
        let event = ChatEvent::ContentDelta(ContentDelta { offset: self.sent_bytes, delta: delta.to_owned() });
        self.log.append(&event).map_err(RecordError::new)?;
        self.sent_bytes += byte_count(delta);
        self.unsaved.push_str(delta);
        if self.saved_at.elapsed() >= TEXT_STORED_EVERY {
            let mut tx = self.db.begin().await.map_err(RecordError::new)?;
            self.save_text(&mut tx).await.map_err(RecordError::new)?;
            tx.commit().await.map_err(RecordError::new)?;
        }
        Ok(())
    }

    async fn tool_started(&mut self, call: &StartedToolCall<'_>) -> Result<i64, RecordError> {
        let started_at = now();
        let (key, event) = async {
            let mut tx = self.db.begin().await?;
            self.save_text(&mut tx).await?;
            let message_id = self.rows.assistant_message_id;
            let key = calls::create_tool_call(&mut tx, message_id, call, self.sent_bytes, started_at).await?;
            let event = ChatEvent::ToolCallStart(ToolCallStart {
                tool_call_id: key,
                tool_name: call.request.name.clone(),
                input: RawJson::from_text(&call.request.input_text),
                offset: self.sent_bytes,
            });
            self.save_next(&mut tx, &event).await?;
            tx.commit().await?;
            Ok::<_, sqlx::Error>((key, event))
        }
        .await
        .map_err(RecordError::new)?;
        self.log.append_at(&event, started_at).map_err(RecordError::new)?;
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
        async {
            let mut tx = self.db.begin().await?;
            calls::end_tool_call(&mut tx, key, end).await?;
            self.save_next(&mut tx, &event).await?;
            tx.commit().await
        }
        .await
        .map_err(RecordError::new)?;
        self.log.append(&event).map_err(RecordError::new)
    }

    async fn step_ended(&mut self, step: &StepRecord) -> Result<(), RecordError> {
        async {
            let mut tx = self.db.begin().await?;
            self.save_text(&mut tx).await?;
            calls::create_model_call(&mut tx, self.rows.assistant_message_id, step).await?;
            tx.commit().await
        }
        .await
        .map_err(RecordError::new)
    }
}

fn byte_count(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}
