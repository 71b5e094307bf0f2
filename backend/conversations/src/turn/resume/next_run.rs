//! Waits for the next run of a turn that waits for approval, whichever process resumes the turn and whatever the
//! decision is.

use std::time::Duration;

use tallybook_accounts::UserId;
use tallybook_protocol::{MessageId, MessageStatus};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::journal::TurnSubscription;
use crate::{
    ServiceError,
    service::ConversationService,
    store::messages,
    turn::subscribe::{EventsAnswer, subscribe_stored},
};

/// Interval at which the status of the turn is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Result of waiting for a turn's next run.
#[derive(Debug)]
pub enum NextRun {
    /// The turn was resumed, or has ended. These are its events.
    Resumed(TurnSubscription),
    /// The turn still waits for approval.
    Pending,
}

impl ConversationService {
    /// Waits until a turn no longer waits for approval, and subscribes to it. Returns [`NextRun::Pending`] after
    /// `timeout`, or once the server drains.
    pub async fn next_run(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
        timeout: Duration,
    ) -> Result<NextRun, ServiceError> {
        let context = &self.context;
        let until = Instant::now() + timeout;
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
                return Ok(NextRun::Resumed(events));
            }
            let looked = context.draining.run_until_cancelled(sleep(POLL_INTERVAL)).await;
            if looked.is_none() || Instant::now() >= until {
                return Ok(NextRun::Pending);
            }
        }
    }
}
