//! The interface through which the agent reports a turn, and the types it passes. The implementation that stores and
//! sends events is in `tallybook-conversations` (`turn/recorder`). This crate's tests have one that keeps the events in
//! memory.

use std::future::Future;

use tallybook_llm::{ModelMessage, RetryWait, ToolCallRequest};
use tallybook_protocol::{
    Plan, PlanId, PlanStepChanged, PlanStepId, PlanStepStatus, ToolCallId, ToolCallStatus, Usage,
};
use tallybook_tools::{Progress, ToolSpec};

use super::{call_files::CallFile, vote::Review};

/// Records a turn. A method returns only after its record is stored and its events are sent to the turn's subscribers,
/// with these exceptions: text and reasoning are sent at once and stored soon after; activities are not stored;
/// [`TurnRecorder::model_called`] and [`TurnRecorder::tool_ended`] only queue their records. After an error, the agent
/// only calls [`TurnRecorder::tool_ended`], for calls that were still running.
pub trait TurnRecorder: Send {
    /// Records text that the model wrote in a step.
    fn text(&mut self, step: u32, delta: &str) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Records more reasoning from the model in a step. The reasoning pauses when the recorder receives anything else
    /// of the step.
    fn reasoning(&mut self, step: u32, delta: &str);

    /// Records that all text the model wrote in a step so far was reasoning, and retracts the text. `text` is that
    /// reasoning in full.
    fn text_was_reasoning(&mut self, step: u32, text: &str) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Returns `true` if the user always allows this tool.
    fn has_saved_approval(&mut self, tool: &ToolSpec) -> impl Future<Output = Result<bool, RecordError>> + Send;

    /// Requests approval for a high-risk call. Unless the user always allows the tool, stores the call as waiting,
    /// together with the reviewers' votes and, if they decide, their decision. Then sends the request to the turn's
    /// subscribers.
    fn request_approval(
        &mut self,
        call: &StartedToolCall<'_>,
        tool: &ToolSpec,
        review: &Review,
    ) -> impl Future<Output = Result<ApprovalRequest, RecordError>> + Send;

    /// Records that a call is about to run. Returns its ID.
    fn tool_started(
        &mut self,
        call: &StartedToolCall<'_>,
    ) -> impl Future<Output = Result<ToolCallId, RecordError>> + Send;

    /// Takes the result of a call that ended. [`TurnRecorder::settle`] stores and sends it before anything else is
    /// recorded. If that fails, the end of the turn stores it.
    fn tool_ended(&mut self, id: ToolCallId, end: &EndedToolCall);

    /// Stores the results of the calls that ended, all at once, and sends them. This takes a while, and the agent may
    /// call the model in the meantime. The agent never cancels this method once it has begun.
    fn settle(&mut self) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Called when the prompt exceeded the model's context window (`limit` tokens, if known). Returns a shorter history
    /// before the turn's question, or `None` if there is nothing left to drop.
    fn shorten_history(
        &mut self,
        limit: Option<usize>,
    ) -> impl Future<Output = Result<Option<Earlier>, RecordError>> + Send;

    /// Records a new or a revised plan. Returns the plan in its current state.
    fn plan_made(&mut self, plan: &NewPlan) -> impl Future<Output = Result<Plan, RecordError>> + Send;

    /// Records that a step of the plan begins, is retried, or has ended. Returns the change as subscribers receive it.
    fn plan_step_changed(
        &mut self,
        change: &PlanStepChange,
    ) -> impl Future<Output = Result<PlanStepChanged, RecordError>> + Send;

    /// Called before a step sends a prompt, whose tokens `prompt_tokens` estimates. Fails with
    /// [`RecordError::OutOfTokens`] or [`RecordError::OutOfBudget`] if the user may not use more.
    fn before_step(
        &mut self,
        prompt_tokens: impl FnOnce() -> usize + Send,
    ) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Sends an activity to the subscribers without storing it.
    fn activity(&mut self, activity: Activity<'_>);

    /// Records a model call: a step's answer is complete and none of its calls has begun, an auxiliary model call has
    /// ended, or the model failed. The record is stored with the next write at the latest: before any of the step's
    /// calls runs, and before the end of the turn.
    fn model_called(&mut self, call: &ModelCallRecord) -> impl Future<Output = Result<(), RecordError>> + Send;
}

/// A plan to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPlan {
    /// Why the plan was revised; `None` for the first plan.
    pub reason: Option<String>,
    /// The conditions that must be true when the whole plan is done.
    pub success_criteria: String,
    /// The steps. In a revised plan they replace the steps that have not been started.
    pub steps: Vec<NewPlanStep>,
}

/// A step of a plan to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPlanStep {
    /// The task of the step.
    pub instruction: String,
    /// The result that the step should give.
    pub expected: String,
}

/// A change of a plan step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStepChange {
    /// The plan.
    pub plan_id: PlanId,
    /// The step.
    pub step_id: PlanStepId,
    /// Its new status.
    pub status: PlanStepStatus,
    /// The attempt that the change is about, from 1.
    pub attempt: i32,
    /// Why the attempt was judged as it was, or why there is another attempt.
    pub reason: Option<String>,
    /// The number of the next step of the agent loop.
    pub next_step: u32,
}

/// A shorter history before a turn's question than the one the model received first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earlier {
    /// The remaining messages, oldest first, without the question.
    pub messages: Vec<ModelMessage>,
    /// The summary, as in [`TurnInput::summary`](super::TurnInput::summary).
    pub summary: Option<String>,
}

/// The result of an approval request for a high-risk call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalRequest {
    /// The user always allows the tool.
    AlwaysAllowed,
    /// Approval was requested under this ID. The call waits for a decision unless its review has one.
    Requested(ToolCallId),
}

/// An activity of a turn while no text of the answer arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activity<'a> {
    /// The model is writing a call.
    WritingCall {
        /// The tool's name, as the model wrote it.
        tool_name: &'a str,
        /// Length of the arguments so far, in bytes.
        bytes: usize,
    },
    /// The model call failed, and will be retried.
    Retrying(RetryWait),
    /// A running call reports its progress, at most four times a second.
    CallProgress {
        /// The call.
        id: ToolCallId,
        /// Its progress.
        progress: &'a Progress,
    },
}

/// Why recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// This process no longer holds the turn's lease, or the turn is over. It must not change the turn any more.
    #[error("Another server or request ended this answer.")]
    LostLease,
    /// The answer's text is longer than clients accept.
    #[error(
        "The answer was ended because it grew beyond {limit} bytes. The text so far is saved. Ask for less at a time."
    )]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The user has no tokens left for another step.
    #[error(
        "The answer was ended because you have used your limit of {limit} tokens within 24 hours. The text so far is \
         saved. Continue later, or ask an admin to raise the limit."
    )]
    OutOfTokens {
        /// The limit, in tokens within 24 hours.
        limit: u64,
    },
    /// A budget of the user has nothing left for another step.
    #[error("The answer was ended before its next step. The text so far is saved. {reason}")]
    OutOfBudget {
        /// Sentences that say which budget it is, and when it starts again.
        reason: String,
    },
    /// The storage is unavailable at the moment.
    #[error(
        "The answer was ended because the database is unreachable. The text so far is saved. Try again in a moment."
    )]
    Unavailable(#[source] Cause),
    /// The storage is full.
    #[error(
        "The answer was ended because the database is full. The text so far is saved. Free some space and try again."
    )]
    Full(#[source] Cause),
    /// The storage rejects the data, however often the write is retried.
    #[error("The answer was ended because a part of it could not be stored. The text so far is saved.")]
    Rejected(#[source] Cause),
}

/// The storage's error, for the log.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

impl RecordError {
    /// Returns the stable error code, sent as `code` in the `error` event.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LostLease => "interrupted",
            Self::TooLong { .. } => "answer_too_long",
            Self::OutOfTokens { .. } => "out_of_tokens",
            Self::OutOfBudget { .. } => "budget_used_up",
            Self::Unavailable(_) => "storage_unavailable",
            Self::Full(_) => "storage_full",
            Self::Rejected(_) => "storage_rejected",
        }
    }
}

/// A call that is about to run or needs approval.
#[derive(Clone, Copy, Debug)]
pub struct StartedToolCall<'a> {
    /// The step, from 0.
    pub step: u32,
    /// Position in the step, from 0. A call that runs again after a resume comes after all calls that the model asked
    /// for.
    pub position: u32,
    /// The call that the model asked for, with the arguments to run with.
    pub request: &'a ToolCallRequest,
    /// Its ID, if it already has one because it waited for approval.
    pub waited: Option<ToolCallId>,
}

/// Result of a call that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedToolCall {
    /// `success`, `error`, `denied`, `cancelled` or `interrupted`.
    pub status: ToolCallStatus,
    /// The tool's output, truncated to the limit for storing; `None` if there is none.
    pub output: Option<String>,
    /// Why it failed; `None` if it did not.
    pub error: Option<String>,
    /// The kind of failure; `None` if it did not fail.
    pub error_type: Option<String>,
    /// Duration of the call, in milliseconds.
    pub duration_ms: i64,
    /// Images that the tool returned.
    pub files: Vec<CallFile>,
}

/// The purpose of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A step of an answer.
    Answer,
    /// The plan of an answer.
    Plan,
    /// A verdict on whether a step of the plan was done.
    Evaluate,
    /// A vote on a tool call.
    Review,
    /// A conversation's title.
    Title,
    /// A summary of a conversation so far.
    Summary,
    /// A summary, in a few lines, of how an answer was made and why.
    ReasoningSummary,
}

impl Purpose {
    /// Returns the value stored in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Plan => "plan",
            Self::Evaluate => "evaluate",
            Self::Review => "review",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::ReasoningSummary => "reasoning_summary",
        }
    }
}

/// A model call, as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCallRecord {
    /// The step, from 0. For a review, the step whose call was reviewed.
    pub step: u32,
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The provider's name.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Why the model stopped; `None` if it failed.
    pub stop_reason: Option<String>,
    /// Tokens of this call.
    pub usage: Usage,
    /// Number of attempts until the provider answered or the call was given up.
    pub attempts: u32,
    /// Milliseconds from the request to the first sign of an answer; `None` if there was none.
    pub time_to_first_token_ms: Option<i64>,
    /// Milliseconds from the request to the end of the answer, without the tools.
    pub duration_ms: i64,
    /// Why the model failed; `None` if it did not.
    pub error: Option<String>,
    /// The blocks of the answer as JSON, so that the step can be part of later prompts.
    pub blocks: String,
}
