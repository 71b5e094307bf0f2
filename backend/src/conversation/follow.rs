//! Following turns that this process does not run: those that have ended are told as they are stored, those of another
//! process are read in their stored journal, a few times a second.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tallybook_protocol::{ChatEvent, MessageEnd, MessageStatus, Snapshot, ToolCall, TurnError, Usage, sse};
use tokio::sync::mpsc;

use super::{
    EventsAnswer, ServiceError,
    model::{ConversationRow, MessageRow, ModelCallRow, ToolCallRow},
    repository::{calls, messages, turns::TurnRows},
    service::Inner,
};
use crate::journal::{EventId, stored};

/// How often the stored journal is read.
const READ_EVERY: Duration = Duration::from_millis(250);

/// How many portions a reader may fall behind; the reading waits for it then, and nobody else does.
const BACKLOG: usize = 2;

impl Inner {
    /// Follows a turn of another process after `last`, or from a snapshot, until it is over.
    pub(super) async fn follow_stored(
        self: &Arc<Self>,
        conversation_id: i64,
        message: &MessageRow,
        last: Option<EventId>,
    ) -> Result<mpsc::Receiver<Bytes>, ServiceError> {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let known = last.filter(|id| id.message_id == message.id && id.epoch == message.epoch);
        let place = if let Some(id) = known {
            id
        } else {
            let (place, snapshot) = self.stored_snapshot(message).await?;
            // The channel is empty as yet, so there is room.
            let _ = sender.try_send(snapshot);
            place
        };
        let reading = Arc::clone(self).read_stored(conversation_id, place, sender);
        self.tasks.spawn_on(self.draining.clone().run_until_cancelled_owned(reading), &self.runtime);
        Ok(receiver)
    }

    async fn read_stored(self: Arc<Self>, conversation_id: i64, mut place: EventId, sender: mpsc::Sender<Bytes>) {
        loop {
            // Asked before reading: what is stored when the turn is over is all there will be.
            let running = self.is_running_under(conversation_id, place).await;
            match (stored::list_frames_after(&self.db, place).await, running) {
                (Ok(Some((frames, seq))), _) => {
                    place.seq = seq;
                    if sender.send(frames).await.is_err() {
                        return;
                    }
                }
                (Ok(None), Ok(true)) => tokio::select! {
                    () = sender.closed() => return,
                    () = tokio::time::sleep(READ_EVERY) => {}
                },
                (Ok(None), Ok(false)) => return,
                // The reader's stream ends without a terminal event, so it comes back by itself.
                (Err(error), _) | (_, Err(error)) => {
                    tracing::warn!(%error, "a turn's stored journal could not be read");
                    return;
                }
            }
        }
    }

    async fn is_running_under(&self, conversation_id: i64, place: EventId) -> sqlx::Result<bool> {
        let message = messages::find_message(&self.db, conversation_id, place.message_id).await?;
        Ok(message.is_some_and(|m| m.status() == MessageStatus::Streaming && m.epoch == place.epoch))
    }

    /// The message as far as it is stored, and the place after which to go on. The place is read first: what comes
    /// between is then told twice, which changes nothing.
    async fn stored_snapshot(&self, message: &MessageRow) -> Result<(EventId, Bytes), ServiceError> {
        let seq = stored::find_last_seq(&self.db, message.id, message.epoch).await?.unwrap_or(-1);
        let place = EventId { message_id: message.id, epoch: message.epoch, seq };
        let event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message.id,
            epoch: message.epoch,
            content: stored::find_text(&self.db, message.id).await?,
            tool_calls: self.tool_calls_of(message.id).await?,
            status: MessageStatus::Streaming,
        });
        Ok((place, sse::write_frame(Some(&place.to_string()), event.name(), &event.data()?).into()))
    }

    /// Joins the turn of a message that was sent before.
    pub(super) async fn follow_known(
        self: &Arc<Self>,
        row: &ConversationRow,
        rows: TurnRows,
    ) -> Result<EventsAnswer, ServiceError> {
        match self.journal.find(rows.assistant_message_id) {
            Some(log) => Ok(EventsAnswer::Live(log.subscribe())),
            None => self.tell_as_stored(row, rows.assistant_message_id, None).await,
        }
    }

    /// A turn that does not run here: its terminal event, or what its own process stores of it.
    pub(super) async fn tell_as_stored(
        self: &Arc<Self>,
        row: &ConversationRow,
        message_id: i64,
        last: Option<EventId>,
    ) -> Result<EventsAnswer, ServiceError> {
        let Some(message) = messages::find_message(&self.db, row.id, message_id).await? else {
            return Ok(EventsAnswer::Nothing);
        };
        let seq = stored::find_last_seq(&self.db, message_id, message.epoch).await?.unwrap_or_default();
        let id = EventId { message_id, epoch: message.epoch, seq }.to_string();
        let event = match message.status() {
            MessageStatus::Streaming => {
                return Ok(EventsAnswer::Stored(self.follow_stored(row.id, &message, last).await?));
            }
            MessageStatus::Failed => failed_event(message),
            status => ChatEvent::MessageEnd(MessageEnd {
                assistant_message_id: message_id,
                error: message.error,
                error_code: message.error_code,
                stop_reason: message.stop_reason,
                content: message.content,
                tool_calls: self.tool_calls_of(message_id).await?,
                status,
                usage: self.usage_of(message_id).await?,
            }),
        };
        Ok(EventsAnswer::Once(sse::write_frame(Some(&id), event.name(), &event.data()?).into()))
    }

    /// Whether somebody who has heard `last` of a turn that is over has heard all.
    pub(super) async fn owes_nothing_after(&self, conversation_id: i64, last: EventId) -> sqlx::Result<bool> {
        let Some(message) = messages::find_message(&self.db, conversation_id, last.message_id).await? else {
            return Ok(true);
        };
        if message.epoch != last.epoch {
            // The turn went on since, and ended again.
            return Ok(message.epoch < last.epoch);
        }
        let stored_seq = stored::find_last_seq(&self.db, last.message_id, last.epoch).await?;
        Ok(stored_seq.is_none_or(|seq| seq <= last.seq))
    }

    pub(super) async fn tool_calls_of(&self, message_id: i64) -> sqlx::Result<Vec<ToolCall>> {
        let calls = calls::list_tool_calls(&self.db, &[message_id]).await?;
        Ok(calls.iter().map(ToolCallRow::to_tool_call).collect())
    }

    pub(super) async fn usage_of(&self, message_id: i64) -> sqlx::Result<Usage> {
        Ok(calls::list_model_calls(&self.db, &[message_id]).await?.iter().map(ModelCallRow::usage).sum())
    }
}

fn failed_event(message: MessageRow) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: message.error.unwrap_or_default(),
        code: message.error_code.unwrap_or_default(),
        user_message_id: message.parent_id,
        assistant_message_id: Some(message.id),
    })
}
