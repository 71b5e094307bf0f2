//! Playing a turn again as it happened, from its stored journal, for as long as that is kept.

use tallybook_protocol::{MessageId, MessageStatus, Playback};
use uuid::Uuid;

use super::super::{ServiceError, service::ConversationService, store::messages};
use crate::{
    accounts::UserId,
    journal::{
        EventId,
        stored::{self, RawEvent},
    },
};

impl ConversationService {
    /// The events of a turn that is over, after `after`, as many as are read at a time.
    pub async fn playback(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        after: Option<EventId>,
    ) -> Result<Playback, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let message = messages::find_message(&context.db, row.id, message_id).await?;
        if message.ok_or(ServiceError::NoSuchMessage)?.status == MessageStatus::Streaming {
            return Err(ServiceError::TurnRunning);
        }
        let beginning = EventId { message_id, epoch: 0, seq: -1 };
        let after = after.filter(|after| after.message_id == message_id).unwrap_or(beginning);
        let events = stored::list_raw_events_after(&context.db, after).await?;
        let next = events.last().map(|last| last.id.to_string());
        Ok(Playback { items: events.into_iter().map(RawEvent::played).collect(), next })
    }
}
