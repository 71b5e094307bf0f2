//! Stops a turn. If another process runs the turn, this process stores a stop request, and the other one polls for it.

use std::{sync::Arc, time::Duration};

use tallybook_accounts::UserId;
use tallybook_protocol::MessageId;
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    service::ConversationService,
    store::{ConversationId, conversations, turns},
    turn::finish::stop_waiting::stop_waiting,
};

/// Interval at which a process polls for stop requests for its turns.
const STOP_REQUESTS_EVERY: Duration = Duration::from_millis(400);

impl ConversationService {
    /// Stops the turn that runs or waits for approval. Returns `false` if there is none, or if a stop of a turn in
    /// another process is requested already.
    pub async fn stop(&self, user: UserId, uuid: Uuid) -> Result<bool, ServiceError> {
        self.stop_active(user, uuid, None).await
    }

    /// Stops the turn as [`Self::stop`] does, but only if it is this one.
    pub async fn stop_turn(&self, user: UserId, uuid: Uuid, message_id: MessageId) -> Result<bool, ServiceError> {
        self.stop_active(user, uuid, Some(message_id)).await
    }

    /// Stops a turn in a task of its own, for callers that cannot wait.
    pub fn spawn_stop(&self, user: UserId, uuid: Uuid, message_id: MessageId) {
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

/// Stops the turn of a deleted conversation, if one runs or waits for approval. Returns its id, or `None` if there is
/// none.
pub(crate) async fn stop_deleted(
    context: &Arc<Context>,
    user: UserId,
    id: ConversationId,
) -> Result<Option<MessageId>, ServiceError> {
    let Some(claim) = conversations::find_claim(&context.db, id).await? else { return Ok(None) };
    stop_claimed(context, user, id, claim).await?;
    Ok(Some(claim.0))
}

/// Stops a turn. `is_waiting` says whether it waited for approval a moment ago.
async fn stop_claimed(
    context: &Arc<Context>,
    user: UserId,
    id: ConversationId,
    (message_id, is_waiting): (MessageId, bool),
) -> Result<bool, ServiceError> {
    if is_waiting && stop_waiting(context, user, id, message_id).await? {
        return Ok(true);
    }
    // The turn may have been resumed since. If it does not run here, it runs in another process, which polls for this
    // request.
    Ok(context.running.cancel(message_id) || turns::request_stop(&context.db, message_id).await?)
}

/// Stops turns of this process for which other processes stored stop requests. An embedded database has no other
/// processes.
pub(crate) async fn watch_for_stop_requests(context: Arc<Context>) {
    if context.db.is_embedded() {
        return;
    }
    while context.shut_down.run_until_cancelled(tokio::time::sleep(STOP_REQUESTS_EVERY)).await.is_some() {
        if context.running.len() == 0 {
            // Apart from this task, nothing runs or is about to start.
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
