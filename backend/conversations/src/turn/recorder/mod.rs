//! Implements [`TurnRecorder`]: stores a turn and sends its events to the subscribers. Events of tool calls, approvals
//! and plans are stored before they are sent. Text and reasoning are sent at once, and stored in batches a few times a
//! second (`text_flusher`, `writer`). Activity events are never stored.

pub(crate) mod reasoning;
pub(crate) mod text_flusher;
pub(crate) mod writer;

use std::{collections::HashMap, slice, time::Duration};

use chrono::{DateTime, Utc};
use serde_json::Number;
use tallybook_accounts::UserId;
use tallybook_agent::{
    Activity, ApprovalRequest, Earlier, EndedToolCall, ModelCallRecord, NewPlan, PlanStepChange, RecordError, Review,
    ReviewDecision, StartedToolCall, TurnRecorder,
};
use tallybook_database::{FailureKind, Transaction, TransactionError, classify, now, with_retries};
use tallybook_llm::RetryWait;
use tallybook_protocol::{
    ChatEvent, ContentDelta, Decision, ModelRetry, Plan, PlanStepChanged, ToolCallId, ToolCallPreparing,
    ToolCallProgress, json_bytes,
};
use tallybook_tools::{Progress, ToolSpec};
use tokio::time::Instant;

use crate::{
    admission::{self, RequestLimits, Reserve},
    context::Context,
    journal::{answer::separator, stored::EncodedEvent},
    limits::{MAX_ANSWER_JSON_BYTES, MAX_DELTA_BYTES},
    store::{
        approvals::{self, NewApproval, NewVerdict},
        decisions::{self, Decider},
        tool_calls,
    },
    turn::{
        context::{BuiltContext, ContextBuilder},
        plan::{store_change, store_plan},
        recorder::{
            reasoning::ReasoningState,
            writer::{TurnWriter, asked_events, start_event, wire_offset},
        },
    },
    user_limits::Reached,
};

/// Minimum interval between events that report the number of bytes of a tool call that the model has written.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Recorder of one run of a turn.
pub(crate) struct StoringRecorder<'a> {
    writer: &'a TurnWriter,
    context: &'a Context,
    context_builder: ContextBuilder<'a>,
    /// The user whose limits the tokens count against.
    user: UserId,
    limits: &'a RequestLimits,
    /// `true` after the first step of this run was checked against the limits. Always `false` without limits.
    has_checked_limit: bool,
    /// Running calls, each with the name of its tool for the statistics. `None` if no such tool exists.
    running: HashMap<ToolCallId, Option<String>>,
    /// Time of the last event that [`PROGRESS_INTERVAL`] limits.
    progress_sent_at: Option<Instant>,
    /// The last step in which the model wrote text.
    text_step: Option<TextStep>,
    /// Size of the answer's text as JSON, in bytes.
    json_bytes: usize,
    reasoning_state: ReasoningState,
}

/// A step in which the model wrote text.
#[derive(Clone, Copy, Debug)]
struct TextStep {
    /// Number of the step.
    step: u32,
    /// Length of the answer's text before this step, in bytes.
    from: usize,
    /// Time at which the step's text began.
    since: Instant,
}

impl<'a> StoringRecorder<'a> {
    pub(crate) fn new(
        writer: &'a TurnWriter,
        context: &'a Context,
        context_builder: ContextBuilder<'a>,
        user: UserId,
        limits: &'a RequestLimits,
    ) -> Self {
        let json_bytes = writer.log().read_text(json_bytes);
        let reasoning_state = ReasoningState::after(writer.log());
        Self {
            writer,
            context,
            context_builder,
            user,
            limits,
            has_checked_limit: false,
            running: HashMap::new(),
            progress_sent_at: None,
            text_step: None,
            json_bytes,
            reasoning_state,
        }
    }

    /// Sends text in events of at most [`MAX_DELTA_BYTES`].
    fn send_text(&self, text: &str) {
        let log = self.writer.log();
        let mut rest = text;
        while !rest.is_empty() {
            let (portion, after) = rest.split_at(rest.floor_char_boundary(MAX_DELTA_BYTES));
            let offset = wire_offset(log.text_bytes());
            log.append(ChatEvent::ContentDelta(ContentDelta { offset, delta: portion.to_owned() }));
            rest = after;
        }
    }
}

impl TurnRecorder for StoringRecorder<'_> {
    async fn text(&mut self, step: u32, delta: &str) -> Result<(), RecordError> {
        self.reasoning_state.pause(self.writer.log());
        let log = self.writer.log();
        let separator = if self.text_step.is_some_and(|known| known.step == step) {
            ""
        } else {
            self.text_step = Some(TextStep { step, from: log.text_bytes(), since: Instant::now() });
            log.read_text(separator)
        };
        self.json_bytes += json_bytes(separator) + json_bytes(delta);
        if self.json_bytes > MAX_ANSWER_JSON_BYTES {
            return Err(RecordError::TooLong { limit: MAX_ANSWER_JSON_BYTES });
        }
        if separator.is_empty() {
            self.send_text(delta);
        } else {
            self.send_text(&format!("{separator}{delta}"));
        }
        Ok(())
    }

    fn reasoning(&mut self, step: u32, delta: &str) {
        self.reasoning_state.append(self.writer.log(), step, delta);
    }

    async fn text_was_reasoning(&mut self, step: u32, text: &str) -> Result<(), RecordError> {
        let log = self.writer.log();
        let Some(TextStep { from, since, .. }) = self.text_step.take_if(|known| known.step == step) else {
            self.reasoning(step, text);
            return Ok(());
        };
        let mut events = self.reasoning_state.grow(log, step, text, (from, since));
        events.extend(self.reasoning_state.end());
        stored(with_retries(|| self.writer.take_back_text(from, &events)).await)?;
        self.json_bytes = log.read_text(json_bytes);
        Ok(())
    }

    async fn has_saved_approval(&mut self, tool: &ToolSpec) -> Result<bool, RecordError> {
        let (writer, hash) = (self.writer, tool.hash());
        let message_id = writer.rows().assistant_message_id;
        if writer.has_model_calls() {
            // A review may follow and take long, so the step's output is stored first.
            with_retries(|| writer.store()).await.map_err(record_error)?;
        }
        let is_given = || approvals::has_saved_approval(writer.db(), message_id, &tool.name, &hash);
        with_retries(is_given).await.map_err(record_error)
    }

    async fn request_approval(
        &mut self,
        call: &StartedToolCall<'_>,
        tool: &ToolSpec,
        review: &Review,
    ) -> Result<ApprovalRequest, RecordError> {
        if self.has_saved_approval(tool).await? {
            return Ok(ApprovalRequest::AlwaysAllowed);
        }
        let (writer, hash) = (self.writer, tool.hash());
        let message_id = writer.rows().assistant_message_id;
        let offset = wire_offset(writer.log().text_bytes());
        // One transaction, so that the votes are never stored without the decision that follows from them.
        let store = || async {
            let Some(mut write) = writer.begin().await? else { return Ok(None) };
            let asked_at = write.tx.now().await?;
            let id = approvals::create_waiting_call(&mut write.tx, message_id, call, offset, &hash, asked_at).await?;
            let id = id.ok_or(WriteError::NotWaiting)?;
            decisions::replace_reviews(&mut write.tx, id, &review.votes, asked_at).await?;
            if let Some(outcome) = &review.outcome {
                store_outcome(&mut write.tx, id, (outcome, asked_at), &hash).await?;
            }
            let events = asked_events(id, call, tool, (offset, asked_at), review);
            let encoded = events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
            write.commit(&encoded).await?;
            Ok::<_, WriteError>(Some((id, events.into_iter().zip(encoded), asked_at)))
        };
        let (id, events, asked_at) = stored(with_retries(store).await)?;
        for (event, encoded) in events {
            writer.log().append_encoded(event, encoded, asked_at);
        }
        Ok(ApprovalRequest::Requested(id))
    }

    async fn tool_started(&mut self, call: &StartedToolCall<'_>) -> Result<ToolCallId, RecordError> {
        let writer = self.writer;
        let (started_at, offset) = (now(), wire_offset(writer.log().text_bytes()));
        let store = || async {
            let Some(mut write) = writer.begin().await? else { return Ok(None) };
            let message_id = writer.rows().assistant_message_id;
            let id = match call.waited {
                None => tool_calls::create_tool_call(&mut write.tx, message_id, call, offset, None, started_at).await?,
                Some(id) => {
                    if !approvals::start_approved_call(&mut write.tx, id, started_at).await? {
                        return Err(WriteError::NotWaiting);
                    }
                    id
                }
            };
            let event = start_event(id, call, offset, started_at);
            let encoded = EncodedEvent::of(&event)?;
            write.commit(slice::from_ref(&encoded)).await?;
            Ok(Some((id, event, encoded)))
        };
        let (id, event, encoded) = stored(with_retries(store).await)?;
        writer.log().append_encoded(event, encoded, started_at);
        let tools = self.context.tool_servers.tools();
        self.running.insert(id, tools.find_spec(&call.request.name).map(|tool| tool.name.clone()));
        Ok(id)
    }

    fn tool_ended(&mut self, id: ToolCallId, end: &EndedToolCall) {
        self.context.work_counts.count_tool_call(self.running.remove(&id).flatten().as_deref(), end);
        self.writer.add_ended_call(id, end.clone());
    }

    async fn settle(&mut self) -> Result<(), RecordError> {
        stored(with_retries(|| self.writer.settle()).await)
    }

    async fn shorten_history(&mut self, limit: Option<usize>) -> Result<Option<Earlier>, RecordError> {
        let built = self.context_builder.shrink(limit).await.map_err(record_error)?;
        Ok(built.map(|BuiltContext { earlier, summary, .. }| Earlier { messages: earlier, summary }))
    }

    async fn plan_made(&mut self, plan: &NewPlan) -> Result<Plan, RecordError> {
        let plan = stored(with_retries(|| store_plan(self.writer, plan)).await)?;
        self.writer.log().append(ChatEvent::Plan(plan.clone()));
        Ok(plan)
    }

    async fn plan_step_changed(&mut self, change: &PlanStepChange) -> Result<PlanStepChanged, RecordError> {
        let changed = stored(with_retries(|| store_change(self.writer, change)).await)?;
        self.writer.log().append(ChatEvent::PlanStep(changed.clone()));
        Ok(changed)
    }

    async fn before_step(&mut self, prompt_tokens: impl FnOnce() -> usize + Send) -> Result<(), RecordError> {
        if !admission::admits_steps(&self.limits.settings, self.user) {
            return Ok(());
        }
        let prompt_tokens = prompt_tokens();
        let is_first = !std::mem::replace(&mut self.has_checked_limit, true);
        if is_first && admission::covers_first_step(prompt_tokens, self.context_builder.overhead_tokens) {
            return Ok(());
        }
        let message = self.writer.rows().assistant_message_id;
        let estimate = prompt_tokens + self.context_builder.model.window().answer;
        let reserve = Reserve::of(estimate, self.context_builder.model.prices());
        match admission::admit_step(self.context, self.limits, self.user, message, reserve).await {
            Ok(None) => Ok(()),
            Ok(Some(Reached::Budget(used_up))) => Err(RecordError::OutOfBudget { reason: used_up.to_string() }),
            Ok(Some(_)) => Err(RecordError::OutOfTokens { limit: self.limits.settings.user_limits.tokens_per_day }),
            Err(error) => Err(record_error(error)),
        }
    }

    fn activity(&mut self, activity: Activity<'_>) {
        if matches!(activity, Activity::WritingCall { .. } | Activity::Retrying(_)) {
            self.reasoning_state.pause(self.writer.log());
        }
        let event = match activity {
            Activity::WritingCall { tool_name, bytes } => {
                if self.progress_sent_at.is_some_and(|at| at.elapsed() < PROGRESS_INTERVAL) {
                    return;
                }
                self.progress_sent_at = Some(Instant::now());
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                ChatEvent::ToolCallPreparing(ToolCallPreparing { tool_name: tool_name.to_owned(), bytes })
            }
            Activity::Retrying(RetryWait { code, attempt, attempts, delay }) => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                ChatEvent::ModelRetry(ModelRetry { code: code.to_owned(), attempt, attempts, delay_ms })
            }
            Activity::CallProgress { id: tool_call_id, progress: Progress { progress, total, message } } => {
                // JSON cannot represent NaN and infinities. Such progress is not sent.
                let Some(progress) = Number::from_f64(*progress) else { return };
                let (total, message) = (total.and_then(Number::from_f64), message.clone());
                ChatEvent::ToolCallProgress(ToolCallProgress { tool_call_id, progress, total, message })
            }
        };
        self.writer.log().append_unnumbered(event);
    }

    async fn model_called(&mut self, call: &ModelCallRecord) -> Result<(), RecordError> {
        self.reasoning_state.pause(self.writer.log());
        self.context.work_counts.count_model_call(call);
        self.writer.add_model_call(call.clone());
        Ok(())
    }
}

/// Stores the reviewers' decision on a call that this transaction has stored as waiting for approval.
async fn store_outcome(
    tx: &mut Transaction,
    id: ToolCallId,
    (outcome, decided_at): (&ReviewDecision, DateTime<Utc>),
    hash: &str,
) -> Result<(), WriteError> {
    let error = outcome.refusal();
    let verdict = match outcome.decision {
        Decision::Approve => NewVerdict::Approve { tool_hash: hash, input: None, scope: None },
        Decision::Deny => NewVerdict::Deny { error: &error },
    };
    let new =
        NewApproval { tool_call_id: id, decider: Decider::Review, decided_at, reason: Some(&outcome.reason), verdict };
    // This transaction has stored the call as undecided, and its row is locked, so no other decision can exist.
    if approvals::create_approval(tx, new).await? { Ok(()) } else { Err(WriteError::NotWaiting) }
}

/// Reason why a write to a turn failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] sqlx::Error),
    /// A call was to be requested again, decided on or started, but according to its row it does not wait as expected.
    #[error("the tool call does not wait as it should")]
    NotWaiting,
}

impl TransactionError for WriteError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}

/// Converts the result of a write. `None` means that the turn no longer belongs to this process, and becomes
/// [`RecordError::LostLease`].
pub(crate) fn stored<T>(outcome: Result<Option<T>, impl Into<WriteError>>) -> Result<T, RecordError> {
    outcome.map_err(record_error)?.ok_or(RecordError::LostLease)
}

/// Converts the reason of a failed write to the error that ends the run.
pub(crate) fn record_error(error: impl Into<WriteError>) -> RecordError {
    match error.into() {
        WriteError::Storage(error) => match classify(&error) {
            FailureKind::Transient => RecordError::Unavailable(error.into()),
            FailureKind::StorageFull => RecordError::Full(error.into()),
            FailureKind::Permanent => RecordError::Rejected(error.into()),
        },
        error @ WriteError::NotWaiting => RecordError::Rejected(error.into()),
    }
}
