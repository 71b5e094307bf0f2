//! The user's feedback on an answer: a rating, and an optional reason.

use tallybook_accounts::UserId;
use tallybook_protocol::{Feedback, MessageId, MessageStatus};
use uuid::Uuid;

use crate::{
    ServiceError,
    input::check_feedback,
    service::ConversationService,
    store::{feedback, messages, rows::MessageRow},
};

impl ConversationService {
    /// Stores the user's feedback on an answer, in place of any earlier feedback, and returns it as stored. Fails with
    /// `TurnRunning` or `AwaitingApproval` until the answer has ended, and with `Invalid` for the user's own message.
    pub async fn set_feedback(
        &self,
        user: UserId,
        uuid: Uuid,
        id: MessageId,
        given: Feedback,
    ) -> Result<Feedback, ServiceError> {
        let given = check_feedback(&given)?;
        let answer = self.find_message(user, uuid, id).await?;
        match answer.status {
            _ if answer.is_user() => {
                return Err(ServiceError::Invalid("This is not an answer. Only answers can be rated.".to_owned()));
            }
            MessageStatus::Streaming => return Err(ServiceError::TurnRunning),
            MessageStatus::AwaitingApproval => return Err(ServiceError::AwaitingApproval),
            _ => {}
        }
        feedback::replace(&self.context.db, id, &given).await?;
        Ok(given)
    }

    /// Deletes the user's feedback on an answer. It is not an error if there is none.
    pub async fn delete_feedback(&self, user: UserId, uuid: Uuid, id: MessageId) -> Result<(), ServiceError> {
        self.find_message(user, uuid, id).await?;
        Ok(feedback::delete(&self.context.db, id).await?)
    }

    async fn find_message(&self, user: UserId, uuid: Uuid, id: MessageId) -> Result<MessageRow, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        messages::find_message(&context.db, row.id, id).await?.ok_or(ServiceError::NoSuchMessage)
    }
}
