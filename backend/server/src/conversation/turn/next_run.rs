//! Following a turn beyond the end of a run that waits for consent: on whatever process it goes on, by whatever decision.

use std::time::Duration;

use tallybook_protocol::{MessageId, MessageStatus};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    super::{ServiceError, service::ConversationService, store::messages},
    subscribe::{EventsAnswer, subscribe_stored},
};
use crate::{accounts::UserId, journal::TurnSubscription};

/// How often it is looked whether somebody has decided.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What became of a turn that waited for consent.
#[derive(Debug)]
pub enum NextRun {
    /// It goes on, or has ended.
    Goes(TurnSubscription),
    /// Nobody has decided.
    StillWaits,
}

impl ConversationService {
    /// Waits until a turn goes on that waits for consent, for so long, or until the server drains.
    pub async fn next_run(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        patience: Duration,
    ) -> Result<NextRun, ServiceError> {
        let context = &self.context;
        let until = Instant::now() + patience;
        loop {
            let row = context.find_conversation(user, uuid).await?;
            let state = messages::find_state(&context.db, row.id, message_id).await?;
            let state = state.ok_or(ServiceError::NoSuchMessage)?;
            if state.status != MessageStatus::AwaitingApproval {
                let answer = match context.journal.find(message_id) {
                    Some(log) => EventsAnswer::Turn(log.subscribe_after(None)),
                    None => subscribe_stored(context, row.id, message_id, None).await?,
                };
                let EventsAnswer::Turn(events) = answer else { return Err(ServiceError::NoSuchMessage) };
                return Ok(NextRun::Goes(events));
            }
            let looked = context.draining.run_until_cancelled(sleep(LOOK_EVERY)).await;
            if looked.is_none() || Instant::now() >= until {
                return Ok(NextRun::StillWaits);
            }
        }
    }
}
