//! Following a turn that another process runs: one task reads its stored journal a few times a second, for all who follow it
//! here, into a copy of its record.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tallybook_protocol::{MessageId, MessageStatus};

use super::super::{
    context::Context,
    store::{ConversationId, messages, rows::StateRow},
};
use crate::journal::{EventId, TurnLog, stored};

/// How often the stored journal is read.
const READ_EVERY: Duration = Duration::from_millis(250);

/// A copy of the turn's record as far as it is stored, which goes on growing for as long as somebody holds it.
pub(super) async fn tail(
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

/// Who fills a copy. However this ends, so do the streams of the copy's readers: where the turn's end was not among what was
/// read, they come back by themselves.
struct Tail {
    conversation_id: ConversationId,
    message_id: MessageId,
    epoch: i32,
    log: Weak<TurnLog>,
}

impl Tail {
    async fn keep_reading(self, context: Arc<Context>) {
        loop {
            tokio::time::sleep(READ_EVERY).await;
            // Without readers there is nothing to fill.
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

    /// Reads all that was stored since. False when that is all there will be.
    async fn read(&self, context: &Context, log: &TurnLog) -> sqlx::Result<bool> {
        let Self { message_id, epoch, .. } = *self;
        loop {
            // Asked before reading: what is stored when the turn is over is all there will be.
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
