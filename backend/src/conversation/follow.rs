//! Following a turn that another process runs: its stored journal is read a few times a second.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot, sse};
use tokio::sync::mpsc;

use super::{ServiceError, model::MessageRow, repository::messages, service::Inner};
use crate::journal::{EventId, stored};

/// How often the stored journal is read.
const READ_EVERY: Duration = Duration::from_millis(250);

/// How many portions a reader may fall behind; the reading waits for it then, and nobody else does.
const BACKLOG: usize = 16;

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
            let (place, snapshot) = self.stored_snapshot(conversation_id, message).await?;
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
    async fn stored_snapshot(
        &self,
        conversation_id: i64,
        message: &MessageRow,
    ) -> Result<(EventId, Bytes), ServiceError> {
        let seq = stored::find_last_seq(&self.db, message.id, message.epoch).await?.unwrap_or(-1);
        let place = EventId { message_id: message.id, epoch: message.epoch, seq };
        let event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message.id,
            content: stored::find_text(&self.db, message.id).await?,
            tool_calls: self.tool_calls_of(conversation_id, message.id).await?,
            status: MessageStatus::Streaming,
        });
        Ok((place, sse::write_frame(Some(&place.to_string()), event.name(), &event.data()?).into()))
    }
}
