//! Stops a turn that waits for approval: denies the waiting calls and ends the turn in its current state. The turn has
//! no run at that time, so its end has its own events under the next epoch.

use std::sync::Arc;

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{
    ChatEvent, Decision, MessageEnd, MessageId, MessageStatus, ToolCallDecision, ToolCallId, ToolCallStatus,
};

use crate::journal::{
    EventId,
    stored::{self, EncodedEvent},
};
use crate::{
    ServiceError,
    context::Context,
    store::{
        ConversationId,
        approvals::{self, NewApproval, NewVerdict},
        decisions::{Decider, decided_event},
        messages, model_calls, people, plans, reasonings,
        rows::{DENIED_TYPE, MessageRow, ToolCallRow},
        tool_calls, turns,
    },
};

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
    let name = people::find_name(&context.db, user).await?;
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
    let decision = decider.decides(Decision::Deny, turns::database_now(&context.db).await?);
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

/// Returns the events of the denials and of the turn's end, as they are after the transaction.
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
    events.push(ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: message.id,
        content: message.content.clone(),
        tool_calls: tool_calls::list_changed_tool_calls_of(&context.db, message.id, end_call).await?,
        reasoning: reasonings::list_of_turn(&context.db, message.id).await?,
        plan: plans::find_of_turn(&context.db, message.id).await?,
        mode: message.answer_mode(),
        status: MessageStatus::Stopped,
        error: None,
        error_code: None,
        stop_reason: None,
        usage: model_calls::find_usage(&context.db, message.id).await?,
        provider: message.provider.clone(),
        model: message.model.clone(),
        told: message.told.clone().told(),
    }));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use tallybook_accounts::UserId;

    use crate::turn::{
        finish::stop_waiting::{ServiceError, stop_waiting},
        testing::Fixture,
    };

    /// A trigger that ignores the update has the same effect as other requests that always decide first.
    #[tokio::test]
    async fn a_turn_that_could_not_be_stopped_is_not_said_to_be() {
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
