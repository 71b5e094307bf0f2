//! Resumes a turn from its last complete step, under a new epoch. A turn can resume after it was interrupted, stopped
//! or failed (`request`), and after it waited for approval (`turn::approval`). `calls` determines which of its tool
//! calls run.

pub(crate) mod calls;
pub(crate) mod next_run;
pub(crate) mod request;

use std::{collections::HashMap, sync::Arc};

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{ChatEvent, Decision, MessageStatus, Reasoning, Snapshot, ToolCall, ToolCallId};

use crate::models::Model;
use crate::{
    ServiceError, allowance,
    context::Context,
    store::{
        decisions::{self, DecisionRow},
        model_calls, plans, reasonings,
        rows::{ConversationRow, MessageRow},
        tool_calls,
        turns::{self, ResumeParams, ResumeReason, TurnRows},
    },
    turn::{
        api::client_history::GivenInput,
        context::history::text_of,
        recorder::step_text::bytes_in,
        resume::calls::whole_steps,
        start::{NewRun, StartPermit, start},
        subscribe::EventsAnswer,
    },
};

/// Parameters of a turn that is about to resume.
#[derive(Clone, Copy)]
pub(crate) struct ResumeTurn<'a> {
    pub(crate) user: UserId,
    pub(crate) row: &'a ConversationRow,
    /// The answer so far.
    pub(crate) message: &'a MessageRow,
    /// Messages of the turn, and its new epoch.
    pub(crate) rows: TurnRows,
    pub(crate) model: &'a Arc<Model>,
    pub(crate) after: ResumeReason,
}

/// Resumes the turn and subscribes to it. Returns `None` if another request has changed the turn or its conversation in
/// the meantime.
pub(crate) async fn resume(
    context: &Arc<Context>,
    permit: &StartPermit,
    resuming: ResumeTurn<'_>,
) -> Result<Option<EventsAnswer>, ServiceError> {
    with_retries(|| Box::pin(try_go_on(context, permit, resuming))).await
}

async fn try_go_on(
    context: &Arc<Context>,
    permit: &StartPermit,
    resuming: ResumeTurn<'_>,
) -> Result<Option<EventsAnswer>, ServiceError> {
    let ResumeTurn { user, row, message, rows, model, after } = resuming;
    let steps = model_calls::list_model_calls(&context.db, &[message.id]).await?;
    let whole = whole_steps(&steps);
    let texts: Vec<String> = whole.iter().map(|(_, blocks)| text_of(blocks)).collect();
    // Text and reasoning of incomplete steps are discarded, because these steps run again.
    let bytes = bytes_in(&message.content, &texts);
    let kept = message.content.get(..bytes).unwrap_or(&message.content).to_owned();
    let is_whole = |thought: &Reasoning| whole.iter().any(|(step, _)| i64::from(step.step) == thought.reasoning_id);
    let (reasoning, void): (Vec<_>, Vec<_>) =
        reasonings::list_of_turn(&context.db, message.id).await?.into_iter().partition(is_whole);
    let tool_calls = tool_calls::list_truncated_tool_calls_of(&context.db, message.id).await?;
    let decided = match after {
        ResumeReason::Interrupted => Vec::new(),
        ResumeReason::Approved => {
            decided_events(decisions::list_of_last_step(&context.db, message.id).await?, &tool_calls)
        }
    };
    let snapshot = ChatEvent::Snapshot(Snapshot {
        assistant_message_id: message.id,
        epoch: rows.epoch,
        content: kept.clone(),
        tool_calls,
        reasoning,
        plan: plans::find_of_turn(&context.db, message.id).await?,
        status: MessageStatus::Streaming,
        provider: Some(model.client().info().provider.clone()),
        model: Some(model.name().to_owned()),
    });
    let given = GivenInput::find(&context.db, message.id).await?.map(Arc::new);
    let mut tx = context.db.begin().await?;
    let lease = context.lifetimes.lease;
    let again = ResumeParams { after, content: &kept, model: model.name(), owner: &context.owner, lease };
    allowance::hold(context, &mut tx, user).await?;
    if !turns::continue_turn(&mut tx, row.id, rows, again).await? {
        return Ok(None);
    }
    let admitted = allowance::NewTurn { user, message: message.id, model, parts: None };
    allowance::admit_turn(context, &mut tx, admitted).await?;
    model_calls::forget_failed_steps(&mut tx, message.id).await?;
    for thought in void {
        reasonings::delete(&mut tx, message.id, thought.reasoning_id).await?;
    }
    let first_events = std::iter::once(snapshot).chain(decided).collect();
    let (model, mode) = (Arc::clone(model), message.answer_mode());
    let run = NewRun { user, conversation_id: row.id, rows, model, given, mode, question: None, first_events };
    start(context, permit, tx, run).await.map(Some)
}

/// Returns the events of decisions that were made while the turn did not run. They follow the snapshot, which already
/// contains the calls as they are after the decisions.
fn decided_events(decisions: Vec<DecisionRow>, calls: &[ToolCall]) -> Vec<ChatEvent> {
    let calls: HashMap<ToolCallId, &ToolCall> = calls.iter().map(|call| (call.tool_call_id, call)).collect();
    let event = |row: DecisionRow| {
        let edited = calls.get(&row.tool_call_id).filter(|call| call.proposed_input.is_some());
        let input = edited.filter(|_| row.decision == Decision::Approve).map(|call| call.input.clone());
        ChatEvent::ApprovalDecided(row.into_event(input))
    };
    decisions.into_iter().map(event).collect()
}
