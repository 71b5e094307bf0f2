//! Resumes a turn from its last complete step, under a new epoch.
//!
//! A turn can resume at the user's request after it was interrupted, stopped or failed, and after it waited for
//! approval (`turn::approval`). Completed calls never run again. Approved calls run under their existing rows. Calls
//! with an unknown outcome run again if their tools are idempotent; otherwise the model learns that it is unknown
//! whether they ran.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_protocol::{
    AnswerMode, ChatEvent, Decision, MessageId, MessageStatus, Reasoning, RetryOptions, Snapshot, ToolCall, ToolCallId,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::{
    ServiceError,
    admission::{self, Access},
    context::Context,
    journal::{TurnSubscription, answer::bytes_in},
    models::Model,
    service::ConversationService,
    store::{
        decisions::{self, DecisionRow},
        messages, model_calls, plans, reasonings,
        rows::{ConversationRow, MessageRow},
        tool_calls, turn_settings,
        turns::{self, ResumeParams, ResumeReason, TurnRows},
    },
    turn::{
        api::client_input::ClientInput,
        context::history::text_of,
        resume_state::whole_steps,
        run::RunParams,
        start::{StartPermit, commit_and_run},
        subscribe::{EventsAnswer, subscribe_stored},
    },
};

impl ConversationService {
    /// Resumes the conversation's last answer if it was interrupted, stopped or failed. Uses the requested model,
    /// otherwise the answer's own model, or the conversation's model if the answer's own is no longer in the catalog.
    /// Fails with `NothingToResume` if the last answer cannot be resumed.
    pub async fn resume_turn(
        &self,
        user: UserId,
        uuid: Uuid,
        again: RetryOptions,
    ) -> Result<TurnSubscription, ServiceError> {
        let context = &self.context;
        let permit = StartPermit::take(context)?;
        let row = context.find_conversation(user, uuid).await?;
        if row.active_message_id.is_some() {
            return Err(context.busy(row.id).await?);
        }
        let (message, rows) = find_resumable_turn(context, &row).await?;
        let access = &context.access_of(user).await?;
        let own = message.model.as_deref().and_then(|name| access.models.find(name));
        let model = &match own.filter(|_| again.model.is_none()) {
            Some(own) => own,
            None => access.models.choose(again.model.as_deref(), row.model.as_deref())?,
        };
        let (row, after) = (&row, ResumeReason::Interrupted);
        let resuming = ResumeTurn { user, access, row, message: &message, rows, model, after };
        match resume(context, &permit, resuming).await? {
            Some(events) => Ok(events),
            None => Err(context.busy(row.id).await?),
        }
    }
}

async fn find_resumable_turn(context: &Context, row: &ConversationRow) -> Result<(MessageRow, TurnRows), ServiceError> {
    let head = row.head_message_id.ok_or(ServiceError::NothingToResume)?;
    let message = messages::find_message(&context.db, row.id, head).await?.ok_or(ServiceError::NothingToResume)?;
    let rows = TurnRows::next_epoch(&message).filter(|_| message.status.is_cut_off());
    Ok((message, rows.ok_or(ServiceError::NothingToResume)?))
}

/// Parameters of a turn that is about to resume.
#[derive(Clone, Copy)]
pub(crate) struct ResumeTurn<'a> {
    pub(crate) user: UserId,
    pub(crate) access: &'a Access,
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
) -> Result<Option<TurnSubscription>, ServiceError> {
    with_retries(|| Box::pin(try_resume(context, permit, resuming))).await
}

async fn try_resume(
    context: &Arc<Context>,
    permit: &StartPermit,
    resuming: ResumeTurn<'_>,
) -> Result<Option<TurnSubscription>, ServiceError> {
    let ResumeTurn { user, access, row, message, rows, model, after } = resuming;
    let steps = model_calls::list_model_calls(&context.db, &[message.id]).await?;
    let whole = whole_steps(&steps);
    let texts: Vec<String> = whole.iter().map(|(_, blocks)| text_of(blocks)).collect();
    // Text and reasoning of incomplete steps are discarded, because these steps run again.
    let bytes = bytes_in(&message.content, &texts);
    let kept = message.content.get(..bytes).unwrap_or(&message.content).to_owned();
    let is_whole = |reasoning: &Reasoning| whole.iter().any(|(step, _)| i64::from(step.step) == reasoning.reasoning_id);
    let (reasoning, void): (Vec<_>, Vec<_>) =
        reasonings::list_of_turn(&context.db, message.id).await?.into_iter().partition(is_whole);
    let tool_calls = tool_calls::list_truncated_tool_calls_of(&context.db, message.id).await?;
    let decided = match after {
        ResumeReason::Interrupted => Vec::new(),
        ResumeReason::Approved => {
            decided_events(decisions::list_of_last_step(&context.db, message.id).await?, &tool_calls)
        }
    };
    let mode = message.answer_mode();
    let plan = match mode {
        AnswerMode::React => None,
        AnswerMode::Plan => plans::find_of_turn(&context.db, message.id).await?,
    };
    let snapshot = ChatEvent::Snapshot(Snapshot {
        assistant_message_id: message.id,
        epoch: rows.epoch,
        content: kept.clone(),
        tool_calls,
        reasoning,
        plan,
        status: MessageStatus::Streaming,
        provider: Some(model.client().info().provider.clone()),
        model: Some(model.name().to_owned()),
    });
    let client_input = ClientInput::find(&context.db, message.id).await?.map(Arc::new);
    let mut tx = context.db.begin().await?;
    let lease = context.settings.lease;
    let again = ResumeParams { after, content: &kept, model: model.name(), owner: &context.owner, lease };
    admission::lock_limited_user(&mut tx, user, &access.limits).await?;
    if !turns::resume_turn(&mut tx, row.id, rows, again).await? {
        return Ok(None);
    }
    let admitted = admission::NewTurn {
        user,
        message: message.id,
        model,
        parts: None,
        has_waited: after == ResumeReason::Approved,
    };
    admission::admit_turn(context, &access.limits, &mut tx, admitted).await?;
    model_calls::forget_failed_steps(&mut tx, message.id).await?;
    for reasoning in void {
        reasonings::delete(&mut tx, message.id, reasoning.reasoning_id).await?;
    }
    let settings = turn_settings::find_turn_settings(&mut tx, row.id).await?;
    let first_events = std::iter::once(snapshot).chain(decided).collect();
    let params = RunParams {
        user,
        permissions: access.permissions.clone(),
        limits: access.limits.clone(),
        conversation_id: row.id,
        rows,
        model: Arc::clone(model),
        settings,
        client_input,
        mode,
        question: None,
    };
    commit_and_run(context, permit, tx, params, first_events).await.map(Some)
}

/// Returns the events of decisions that were made while the turn did not run. They follow the snapshot, which already
/// contains the calls in their state after the decisions.
fn decided_events(decisions: Vec<DecisionRow>, calls: &[ToolCall]) -> Vec<ChatEvent> {
    let calls: HashMap<ToolCallId, &ToolCall> = calls.iter().map(|call| (call.tool_call_id, call)).collect();
    let event = |row: DecisionRow| {
        let edited = calls.get(&row.tool_call_id).filter(|call| call.proposed_input.is_some());
        let input = edited.filter(|_| row.decision == Decision::Approve).map(|call| call.input.clone());
        ChatEvent::ApprovalDecided(row.into_event(input))
    };
    decisions.into_iter().map(event).collect()
}

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
            let slept = context.draining.run_until_cancelled(sleep(POLL_INTERVAL)).await;
            if slept.is_none() || Instant::now() >= until {
                return Ok(NextRun::Pending);
            }
        }
    }
}
