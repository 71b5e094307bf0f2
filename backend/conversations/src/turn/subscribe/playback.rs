//! Plays back a turn from its stored journal, as long as the journal is retained.

use tallybook_accounts::UserId;
use tallybook_protocol::{MessageId, MessageStatus, Playback};
use uuid::Uuid;

use crate::journal::{
    EventId,
    stored::{self, RawEvent},
};
use crate::{ServiceError, service::ConversationService, store::messages};

impl ConversationService {
    /// Returns the events of a turn after `after`, one page at a time. Starts at the beginning if `after` is `None` or
    /// belongs to another message. Fails with `TurnRunning` while the turn runs.
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
