//! Stops a turn that runs here, runs in another process, or waits for approval.
//!
//! For a turn of another process, this process stores a stop request, and the other one polls for it. A turn that waits
//! has no run at that time: its calls are denied, and its end has its own events under the next epoch.

use std::{sync::Arc, time::Duration};

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{
    ChatEvent, Decision, MessageEnd, MessageId, MessageStatus, ToolCallDecision, ToolCallId, ToolCallStatus,
};
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    journal::{
        EventId, PartialAnswer,
        stored::{self, EncodedEvent},
    },
    service::ConversationService,
    store::{
        ConversationId,
        approvals::{self, NewApproval, NewVerdict},
        conversations,
        decisions::{self, Decider, decided_event},
        messages, plans, reasonings,
        rows::{DENIED_TYPE, MessageRow, ToolCallRow},
        tool_calls, turns,
    },
    turn::finish::{message_end, terminal_event},
};

/// Interval at which a process polls for stop requests for its turns.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

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
                tracing::warn!(%error, %message_id, "a turn could not be stopped after its client disconnected");
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

/// Stops the turn of a deleted conversation, if one runs or waits for approval. Returns the ID of its answer, or `None`
/// if there is no such turn.
pub(crate) async fn stop_deleted(
    context: &Arc<Context>,
    user: UserId,
    id: ConversationId,
) -> Result<Option<MessageId>, ServiceError> {
    let Some(claim) = conversations::find_claim(&context.db, id).await? else { return Ok(None) };
    stop_claimed(context, user, id, claim).await?;
    Ok(Some(claim.0))
}

/// Stops a turn. `is_waiting` says whether it waited for approval a moment ago. Returns `false` if the turn no longer
/// runs, or if its stop was requested before.
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
    while context.shut_down.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL)).await.is_some() {
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
            Err(error) => tracing::warn!(%error, "the check for stop requests failed"),
        }
    }
}

/// Reason of the denials.
const REASON: &str = "stopped";

/// Error of the denied calls.
const STOPPED: &str = "The answer was stopped, so this call did not run.";

/// Maximum number of attempts, if other requests decide on the turn's calls at the same time.
const MAX_TRIES: u32 = 10;

/// Result of one attempt.
enum StopOutcome {
    Stopped,
    /// The turn no longer waits.
    Resumed,
    /// Another request has decided on a call in the meantime.
    Conflict,
}

/// Stops a turn that waits for approval. Returns `false` if it no longer waits. Fails with `AwaitingApproval` if
/// another request decided on a call during each attempt.
pub(crate) async fn stop_waiting(
    context: &Arc<Context>,
    user: UserId,
    conversation_id: ConversationId,
    message_id: MessageId,
) -> Result<bool, ServiceError> {
    let name = decisions::find_user_name(&context.db, user).await?;
    let decider = Decider::User { id: user, name: &name };
    for _ in 0..MAX_TRIES {
        let found = messages::find_message(&context.db, conversation_id, message_id).await?;
        let Some(message) = found else { return Ok(false) };
        match with_retries(|| try_stop(context, &message, decider)).await? {
            StopOutcome::Conflict => {}
            StopOutcome::Resumed => return Ok(false),
            StopOutcome::Stopped => {
                context.turn_counts.count_end(MessageStatus::Stopped);
                context.feeds.announce(user);
                return Ok(true);
            }
        }
    }
    Err(ServiceError::AwaitingApproval)
}

async fn try_stop(context: &Context, message: &MessageRow, decider: Decider<'_>) -> sqlx::Result<StopOutcome> {
    if message.status != MessageStatus::AwaitingApproval {
        return Ok(StopOutcome::Resumed);
    }
    let (message_id, epoch) = (message.id, message.epoch + 1);
    let waiting = approvals::list_waiting(&context.db, message_id).await?;
    let decision = decider.decides(Decision::Deny, context.db.reader().now().await?);
    let events = events(context, message, &waiting, &decision).await?;
    let encoded = events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
    let mut tx = context.db.begin().await?;
    if !turns::stop_waiting_turn(&mut tx, message_id, epoch).await? {
        return Ok(StopOutcome::Resumed);
    }
    for &tool_call_id in &waiting {
        let verdict = NewVerdict::Deny { error: STOPPED };
        let new = NewApproval { tool_call_id, decider, decided_at: decision.decided_at, reason: Some(REASON), verdict };
        if !approvals::create_approval(&mut tx, new).await? {
            return Ok(StopOutcome::Conflict);
        }
    }
    tool_calls::end_open_tool_calls(&mut tx, message_id, STOPPED).await?;
    for (seq, event) in (0..).zip(&encoded) {
        stored::create_event(&mut tx, EventId { message_id, epoch, seq }, event).await?;
    }
    tx.commit().await?;
    Ok(StopOutcome::Stopped)
}

/// Returns the events of the denials and of the turn's end, with the state after the transaction.
async fn events(
    context: &Context,
    message: &MessageRow,
    waiting: &[ToolCallId],
    decision: &ToolCallDecision,
) -> sqlx::Result<Vec<ChatEvent>> {
    let end_call = |call: &mut ToolCallRow| {
        if waiting.contains(&call.id) {
            call.status = ToolCallStatus::Denied;
            call.error = Some(STOPPED.to_owned());
            call.error_type = Some(DENIED_TYPE.to_owned());
            call.decision = Some(decision.clone());
        } else {
            call.end_if_open(STOPPED);
        }
    };
    let denied = |&tool_call_id: &ToolCallId| {
        ChatEvent::ApprovalDecided(decided_event(tool_call_id, decision.clone(), Some(REASON.to_owned()), None))
    };
    let mut events: Vec<ChatEvent> = waiting.iter().map(denied).collect();
    let tool_calls = tool_calls::list_changed_tool_calls_of(&context.db, message.id, end_call).await?;
    let partial = PartialAnswer {
        content: message.content.clone(),
        reasoning: reasonings::list_of_turn(&context.db, message.id).await?,
        plan: plans::find_of_turn(&context.db, message.id).await?,
    };
    let end = MessageEnd {
        status: MessageStatus::Stopped,
        error: None,
        error_code: None,
        stop_reason: None,
        ..message_end(&context.db, message.clone(), partial, tool_calls).await?
    };
    events.push(terminal_event(end, message.parent_id));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use tallybook_accounts::UserId;

    use crate::turn::{
        stop::{ServiceError, stop_waiting},
        testing::Fixture,
    };

    /// A trigger that ignores the update has the same effect as other requests that always decide first.
    #[tokio::test]
    async fn a_failed_stop_returns_an_error() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        for sql in [
            "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
             text_offset, started_at) SELECT id, 'a', 'pay', '{}', '{}', 'awaiting_approval', 0, 0, 0, created_at \
             FROM messages WHERE role = 'assistant'",
            "CREATE TRIGGER overtake BEFORE UPDATE OF decided_at ON tool_calls BEGIN SELECT RAISE(IGNORE); END",
            // Last, since the server resumes a turn that waits for nothing.
            "UPDATE messages SET status = 'awaiting_approval' WHERE role = 'assistant'",
        ] {
            fixture.execute(sql).await;
        }
        let (id, message_id) = (fixture.conversation_id, rows.assistant_message_id);
        let stopped = stop_waiting(context, UserId::LOCAL, id, message_id).await;
        assert!(matches!(stopped, Err(ServiceError::AwaitingApproval)), "{stopped:?}");
        fixture.execute("DROP TRIGGER overtake").await;
        assert!(stop_waiting(context, UserId::LOCAL, id, message_id).await.unwrap());
    }
}
