//! Resumes an interrupted, stopped or failed answer at the user's request.

use tallybook_accounts::UserId;
use tallybook_protocol::AnswerAgain;
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    service::ConversationService,
    store::{
        messages,
        rows::{ConversationRow, MessageRow},
        turns::{ResumeReason, TurnRows},
    },
    turn::{
        resume::{ResumeTurn, resume},
        start::StartPermit,
        subscribe::EventsAnswer,
    },
};

impl ConversationService {
    /// Resumes the conversation's last answer if it was interrupted, stopped or failed. Uses the requested model, or
    /// else the answer's own model, or if that is gone the conversation's. Fails with `NothingToContinue` if the last
    /// answer cannot be resumed.
    pub async fn continue_turn(
        &self,
        user: UserId,
        uuid: Uuid,
        again: AnswerAgain,
    ) -> Result<EventsAnswer, ServiceError> {
        let context = &self.context;
        let permit = StartPermit::take(context)?;
        let row = context.find_conversation(user, uuid).await?;
        if row.active_message_id.is_some() {
            return Err(context.busy(row.id).await?);
        }
        let (message, rows) = find_cut_off_turn(context, &row).await?;
        let own = message.model.as_deref().and_then(|name| context.models.find(name));
        let model = match own.filter(|_| again.model.is_none()) {
            Some(own) => own,
            None => context.model_for(again.model.as_deref(), row.model.as_deref())?,
        };
        let resuming = ResumeTurn { user, row: &row, message: &message, rows, model, after: ResumeReason::Interrupted };
        match resume(context, &permit, resuming).await? {
            Some(events) => Ok(events),
            None => Err(context.busy(row.id).await?),
        }
    }
}

async fn find_cut_off_turn(context: &Context, row: &ConversationRow) -> Result<(MessageRow, TurnRows), ServiceError> {
    let head = row.head_message_id.ok_or(ServiceError::NothingToContinue)?;
    let message = messages::find_message(&context.db, row.id, head).await?.ok_or(ServiceError::NothingToContinue)?;
    let rows = TurnRows::next_epoch(&message).filter(|_| message.status.is_cut_off());
    Ok((message, rows.ok_or(ServiceError::NothingToContinue)?))
}
