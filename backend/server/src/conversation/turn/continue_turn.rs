//! Going on with an answer that was cut off: from its last whole step, under a new epoch. What that means for its calls is
//! in `resumed`.

use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot};
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        context::Context,
        service::ConversationService,
        store::{
            messages, model_calls,
            rows::{ConversationRow, MessageRow},
            turns::{self, TurnRows},
        },
    },
    history::text_of,
    resumed::whole_steps,
    start::{NewRun, StartPermit, start},
    step_text::bytes_in,
    stored_end::list_truncated_calls,
    subscribe::EventsAnswer,
};
use crate::accounts::UserId;

impl ConversationService {
    /// Goes on with the conversation's last answer, which was interrupted, stopped or failed.
    pub async fn continue_turn(&self, user: UserId, uuid: Uuid) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let permit = StartPermit::take(context)?;
        let row = context.find_conversation(user, uuid).await?;
        if row.active_message_id.is_some() {
            return Err(ServiceError::TurnRunning);
        }
        let (message, rows) = find_cut_off_turn(context, &row).await?;
        let steps = model_calls::list_model_calls(&context.db, &[message.id]).await?;
        let texts: Vec<String> = whole_steps(&steps).iter().map(|(_, blocks)| text_of(blocks)).collect();
        let bytes = bytes_in(&message.content, &texts);
        let kept = message.content.get(..bytes).unwrap_or(&message.content).to_owned();
        let first_event = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message.id,
            epoch: rows.epoch,
            content: kept.clone(),
            tool_calls: list_truncated_calls(&context.db, message.id).await?,
            status: MessageStatus::Streaming,
        });
        let lease_until = turns::database_now(&context.db).await? + context.lifetimes.lease;
        let mut tx = context.db.begin().await?;
        if !turns::continue_turn(&mut tx, row.id, rows, &kept, &context.owner, lease_until).await? {
            return Err(ServiceError::TurnRunning);
        }
        model_calls::forget_failed_steps(&mut tx, message.id).await?;
        start(context, permit, tx, NewRun { user, conversation_id: row.id, rows, first_event }).await
    }
}

async fn find_cut_off_turn(context: &Context, row: &ConversationRow) -> Result<(MessageRow, TurnRows), ServiceError> {
    let head = row.head_message_id.ok_or(ServiceError::NothingToContinue)?;
    let message = messages::find_message(&context.db, row.id, head).await?.ok_or(ServiceError::NothingToContinue)?;
    let Some(user_message_id) = message.parent_id.filter(|_| message.status.is_cut_off()) else {
        return Err(ServiceError::NothingToContinue);
    };
    let rows = TurnRows { user_message_id, assistant_message_id: message.id, epoch: message.epoch + 1 };
    Ok((message, rows))
}
