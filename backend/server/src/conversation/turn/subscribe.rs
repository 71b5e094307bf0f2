//! Following a turn: live where this process runs it, by its stored journal where another one does, and by its end where it
//! is over.

use std::sync::Arc;

use tallybook_protocol::MessageId;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        context::Context,
        service::ConversationService,
        store::{ConversationId, messages, rows::ConversationRow, turns::TurnRows},
    },
    remote_tail,
    stored_end::terminal_entry,
};
use crate::{
    accounts::UserId,
    journal::{EventId, LogEntry, TurnSubscription, stored},
};

/// What somebody who wants to follow a conversation gets.
#[derive(Debug)]
pub enum EventsAnswer {
    /// A turn that runs.
    Live(TurnSubscription),
    /// A turn that another process runs.
    Stored(mpsc::Receiver<Vec<LogEntry>>),
    /// One event, and then the end: how a turn has ended.
    Once(LogEntry),
    /// Nothing runs and nothing is owed.
    Nothing,
}

impl ConversationService {
    /// Follows the running turn after `last`, or tells how the turn that `last` belongs to ended.
    pub async fn events(&self, user: UserId, uuid: Uuid, last: Option<EventId>) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        if let Some(message_id) = row.active_message_id {
            if let Some(log) = context.journal.find(message_id) {
                return Ok(EventsAnswer::Live(log.subscribe_after(last)));
            }
            return subscribe_stored(context, &row, message_id, last).await;
        }
        let Some(last) = last else { return Ok(EventsAnswer::Nothing) };
        if is_caught_up(context, row.id, last).await? {
            return Ok(EventsAnswer::Nothing);
        }
        subscribe_stored(context, &row, last.message_id, None).await
    }
}

/// Joins the turn of a message that was sent before.
pub(super) async fn subscribe_known(
    context: &Arc<Context>,
    row: &ConversationRow,
    rows: TurnRows,
) -> Result<EventsAnswer, ServiceError> {
    match context.journal.find(rows.assistant_message_id) {
        Some(log) => Ok(EventsAnswer::Live(log.subscribe())),
        None => subscribe_stored(context, row, rows.assistant_message_id, None).await,
    }
}

/// A turn that does not run here: its terminal event, or what its own process stores of it.
async fn subscribe_stored(
    context: &Arc<Context>,
    row: &ConversationRow,
    message_id: MessageId,
    last: Option<EventId>,
) -> Result<EventsAnswer, ServiceError> {
    let Some(message) = messages::find_message(&context.db, row.id, message_id).await? else {
        return Ok(EventsAnswer::Nothing);
    };
    match terminal_entry(&context.db, &message).await? {
        Some(entry) => Ok(EventsAnswer::Once(entry)),
        None => Ok(EventsAnswer::Stored(remote_tail::follow(context, row.id, &message, last).await?)),
    }
}

/// Whether somebody who has heard `last` of a turn that is over has heard all.
async fn is_caught_up(context: &Context, conversation_id: ConversationId, last: EventId) -> sqlx::Result<bool> {
    let Some(message) = messages::find_message(&context.db, conversation_id, last.message_id).await? else {
        return Ok(true);
    };
    if message.epoch != last.epoch {
        // The turn went on since, and ended again.
        return Ok(message.epoch < last.epoch);
    }
    // A number beyond the last one was never sent, so whoever names it has not heard the end.
    let stored_seq = stored::find_last_seq(&context.db, last.message_id, last.epoch).await?;
    Ok(stored_seq.is_none_or(|seq| seq == last.seq))
}
