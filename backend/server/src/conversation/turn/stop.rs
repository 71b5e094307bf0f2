//! Stopping a turn, also one that another process runs: that one looks for requests in the database.

use std::{sync::Arc, time::Duration};

use tallybook_protocol::MessageId;
use uuid::Uuid;

use super::{
    super::{
        ServiceError,
        context::Context,
        service::ConversationService,
        store::{ConversationId, conversations, turns},
    },
    stop_waiting::stop_waiting,
};
use crate::accounts::UserId;

/// How often the owner of turns looks whether another process was asked to stop one.
const STOP_REQUESTS_EVERY: Duration = Duration::from_millis(400);

impl ConversationService {
    /// Stops the turn that runs or waits for consent, if one does. False when none does.
    pub async fn stop(&self, user: UserId, uuid: Uuid) -> Result<bool, ServiceError> {
        self.stop_active(user, uuid, None).await
    }

    /// The same, if it is this turn.
    pub async fn stop_turn(&self, user: UserId, uuid: Uuid, message_id: MessageId) -> Result<bool, ServiceError> {
        self.stop_active(user, uuid, Some(message_id)).await
    }

    /// The same, by a task of its own, for who cannot wait.
    pub(crate) fn stop_turn_soon(&self, user: UserId, uuid: Uuid, message_id: MessageId) {
        let service = self.clone();
        self.context.spawn(async move {
            if let Err(error) = service.stop_turn(user, uuid, message_id).await {
                tracing::warn!(%error, %message_id, "a turn could not be stopped that nobody waits for");
            }
        });
    }

    async fn stop_active(&self, user: UserId, uuid: Uuid, wanted: Option<MessageId>) -> Result<bool, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        let is_wanted = |id: &MessageId| wanted.is_none_or(|wanted| wanted == *id);
        let Some(message_id) = row.active_message_id.filter(is_wanted) else { return Ok(false) };
        stop_claimed(context, user, row.id, (message_id, row.awaiting_approval)).await
    }
}

/// Stops the turn of a conversation that was deleted, if one runs or waits, and gives which that was.
pub(in crate::conversation) async fn stop_deleted(
    context: &Arc<Context>,
    user: UserId,
    id: ConversationId,
) -> Result<Option<MessageId>, ServiceError> {
    let Some(claim) = conversations::find_claim(&context.db, id).await? else { return Ok(None) };
    stop_claimed(context, user, id, claim).await?;
    Ok(Some(claim.0))
}

/// Stops a turn, of which is known whether it waited a moment ago.
async fn stop_claimed(
    context: &Arc<Context>,
    user: UserId,
    id: ConversationId,
    (message_id, is_waiting): (MessageId, bool),
) -> Result<bool, ServiceError> {
    if is_waiting && stop_waiting(context, user, id, message_id).await? {
        return Ok(true);
    }
    // It may have gone on since.
    // Who does not run here runs in another process, which looks for this request.
    Ok(context.running.cancel(message_id) || turns::request_stop(&context.db, message_id).await?)
}

/// Stops turns of this process that other processes were asked to stop. An embedded database has no others.
pub(in crate::conversation) async fn watch_for_stop_requests(context: Arc<Context>) {
    if context.db.is_embedded() {
        return;
    }
    while context.shut_down.run_until_cancelled(tokio::time::sleep(STOP_REQUESTS_EVERY)).await.is_some() {
        if context.running.len() == 0 {
            // Beside this task nothing runs or is about to start.
            if context.draining.is_cancelled() && context.tasks.len() <= 1 {
                return;
            }
            continue;
        }
        match turns::list_stop_requests(&context.db, &context.owner).await {
            Ok(requested) => requested.into_iter().for_each(|message_id| {
                context.running.cancel(message_id);
            }),
            Err(error) => tracing::warn!(%error, "requests to stop could not be looked for"),
        }
    }
}
