//! Following a turn that another process runs: its stored journal is read a few times a second.

use std::{sync::Arc, time::Duration};

use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot};
use tokio::sync::mpsc;

use super::{
    super::{
        ServiceError,
        context::Context,
        store::{ConversationId, messages, rows::MessageRow},
    },
    stored_end::list_truncated_calls,
};
use crate::journal::{EventId, LogEntry, stored};

/// How often the stored journal is read.
const READ_EVERY: Duration = Duration::from_millis(250);

/// How many batches a reader may fall behind; the reading waits for it then, and nobody else does.
const MAX_WAITING_BATCHES: usize = 2;

type Sender = mpsc::Sender<Vec<LogEntry>>;

/// Follows a turn after `last`, or from a snapshot, until it is over.
pub(super) async fn follow(
    context: &Arc<Context>,
    conversation_id: ConversationId,
    message: &MessageRow,
    last: Option<EventId>,
) -> Result<mpsc::Receiver<Vec<LogEntry>>, ServiceError> {
    let (sender, receiver) = mpsc::channel(MAX_WAITING_BATCHES);
    let known = last.filter(|id| id.message_id == message.id && id.epoch == message.epoch);
    let place = if let Some(id) = known {
        id
    } else {
        let snapshot = stored_snapshot(context, message).await?;
        let place = snapshot.id().unwrap_or(EventId { message_id: message.id, epoch: message.epoch, seq: -1 });
        // The channel is empty as yet, so there is room.
        let _ = sender.try_send(vec![snapshot]);
        place
    };
    context.spawn_until_draining(read_stored(Arc::clone(context), conversation_id, place, sender));
    Ok(receiver)
}

async fn read_stored(context: Arc<Context>, conversation_id: ConversationId, mut place: EventId, sender: Sender) {
    loop {
        // Asked before reading: what is stored when the turn is over is all there will be.
        let running = is_running_under(&context, conversation_id, place).await;
        match (stored::list_events_after(&context.db, place).await, running) {
            (Ok(entries), running) if !entries.is_empty() => {
                place = entries.last().and_then(LogEntry::id).unwrap_or(place);
                if sender.send(entries).await.is_err() || running.is_err() {
                    return;
                }
            }
            (Ok(_), Ok(true)) => tokio::select! {
                () = sender.closed() => return,
                () = tokio::time::sleep(READ_EVERY) => {}
            },
            (Ok(_), Ok(false)) => return,
            // The reader's stream ends without a terminal event, so it comes back by itself.
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(%error, "a turn's stored journal could not be read");
                return;
            }
        }
    }
}

async fn is_running_under(context: &Context, conversation_id: ConversationId, place: EventId) -> sqlx::Result<bool> {
    let message = messages::find_message(&context.db, conversation_id, place.message_id).await?;
    Ok(message.is_some_and(|m| m.status == MessageStatus::Streaming && m.epoch == place.epoch))
}

/// The message as far as it is stored, under the number after which to go on. That number is read first: what comes between
/// is then told twice, which changes nothing.
async fn stored_snapshot(context: &Context, message: &MessageRow) -> Result<LogEntry, ServiceError> {
    let seq = stored::find_last_seq(&context.db, message.id, message.epoch).await?.unwrap_or(-1);
    let event = ChatEvent::Snapshot(Snapshot {
        assistant_message_id: message.id,
        epoch: message.epoch,
        content: stored::find_text(&context.db, message.id).await?,
        tool_calls: list_truncated_calls(&context.db, message.id).await?,
        status: MessageStatus::Streaming,
    });
    Ok(LogEntry::new(Some(EventId { message_id: message.id, epoch: message.epoch, seq }), event))
}
