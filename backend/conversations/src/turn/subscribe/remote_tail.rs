//! Follows a turn that another process runs. One task per turn polls the stored journal four times a second, and adds
//! the new events to a copy of the log. All subscribers in this process share the copy.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tallybook_protocol::{MessageId, MessageStatus};

use crate::journal::{EventId, TurnLog, stored};
use crate::{
    context::Context,
    store::{ConversationId, messages, rows::StateRow},
};

/// Poll interval of the stored journal.
const READ_EVERY: Duration = Duration::from_millis(250);

/// Returns a copy of the turn's log with all events that are stored so far. The copy grows until the turn ends, as long
/// as a subscriber holds it.
pub(crate) async fn tail(
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
            tokio::time::sleep(READ_EVERY).await;
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
