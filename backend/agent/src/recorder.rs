//! What an agent tells as it goes. The recorder that stores and sends lives with the conversations; the one in memory,
//! with the agent's own tests.

use std::future::Future;

use tallybook_llm::{ModelMessage, RetryWait, ToolCallRequest};
use tallybook_protocol::{
    Plan, PlanId, PlanStepChanged, PlanStepId, PlanStepStatus, ToolCallId, ToolCallStatus, Usage,
};
use tallybook_tools::{Progress, ToolSpec};

use super::vote::Review;

/// Records a turn. Every method, but for [`TurnRecorder::model_called`] and [`TurnRecorder::tool_ended`], returns only when what
/// must be stored is stored and the turn's readers have its events. After an error the agent only calls
/// [`TurnRecorder::tool_ended`], for calls that were still running.
pub trait TurnRecorder: Send {
    /// The model wrote text in a step.
    fn text(&mut self, step: u32, delta: &str) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// The model showed more of its thinking in a step. It ends for now with whatever the recorder is told next of the step.
    fn reasoning(&mut self, step: u32, delta: &str);

    /// All text that the model wrote in a step so far was reasoning, which is given here as a whole. Takes the text back.
    fn text_was_reasoning(&mut self, step: u32, words: &str) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Whether a person has given consent to a tool for good.
    fn is_approved_for_good(&mut self, tool: &ToolSpec) -> impl Future<Output = Result<bool, RecordError>> + Send;

    /// A high-risk call wants to run, which takes consent. Where nobody has given it for good, the call is stored as one that
    /// waits, with what reviewers said of it and, where they decide, their decision; and who follows the turn is told.
    fn request_consent(
        &mut self,
        call: &StartedToolCall<'_>,
        tool: &ToolSpec,
        review: &Review,
    ) -> impl Future<Output = Result<Consent, RecordError>> + Send;

    /// A call is about to run. Gives its id.
    fn tool_started(
        &mut self,
        call: &StartedToolCall<'_>,
    ) -> impl Future<Output = Result<ToolCallId, RecordError>> + Send;

    /// A call ended. [`TurnRecorder::settle`] stores that and tells it, before anything else is recorded; if that fails, the end of
    /// the turn does.
    fn tool_ended(&mut self, id: ToolCallId, end: &EndedToolCall);

    /// Stores how calls ended of which it has been told, all at once, and tells it. This takes a while, in which the model may be
    /// asked already; once begun, it is carried to its end.
    fn settle(&mut self) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// The model does not read as much as it was told, but `limit` tokens where that is known. Gives less of what was said before
    /// the turn's question; nothing where there is none to leave out.
    fn shorten_history(
        &mut self,
        limit: Option<usize>,
    ) -> impl Future<Output = Result<Option<Earlier>, RecordError>> + Send;

    /// A plan was made, or made anew. Gives it as it stands now.
    fn plan_made(&mut self, plan: &NewPlan) -> impl Future<Output = Result<Plan, RecordError>> + Send;

    /// A step of the plan begins, is tried again, or has ended. Gives what whoever follows the turn is told.
    fn plan_step_changed(
        &mut self,
        change: &PlanStepChange,
    ) -> impl Future<Output = Result<PlanStepChanged, RecordError>> + Send;

    /// A step is about to send a prompt, whose tokens `prompt_tokens` estimates. Fails with [`RecordError::OutOfTokens`] if the user
    /// may not use more tokens.
    fn before_step(
        &mut self,
        prompt_tokens: impl FnOnce() -> usize + Send,
    ) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Something goes on that is worth telling now and not worth keeping.
    fn activity(&mut self, activity: Activity<'_>);

    /// A model was asked: its answer of a step is whole and none of its calls has begun, a reviewer has voted, or the model
    /// failed. It is stored at the latest with the next that is: before any of its calls runs, and before the turn's end.
    fn model_called(&mut self, call: &ModelCallRecord) -> impl Future<Output = Result<(), RecordError>> + Send;
}

/// A plan that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPlan {
    /// Why it was made anew; absent the first time.
    pub reason: Option<String>,
    /// What must be true for the whole to be done.
    pub success_criteria: String,
    /// Its steps. Made anew, they take the place of those on which nobody has worked.
    pub steps: Vec<NewPlanStep>,
}

/// A step of a plan that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPlanStep {
    /// What is to be done.
    pub instruction: String,
    /// What it should give.
    pub expected: String,
}

/// A step of a plan that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStepChange {
    /// The plan.
    pub plan_id: PlanId,
    /// The step.
    pub step_id: PlanStepId,
    /// Where it stands now.
    pub status: PlanStepStatus,
    /// Which attempt this is about, from 1.
    pub attempt: i32,
    /// Why the attempt was judged as it was, or why there is another.
    pub reason: Option<String>,
    /// The number of the next step of the loop.
    pub next_step: u32,
}

/// Less of what was said before a turn's question than the model was told first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earlier {
    /// What is left of it, oldest first, without the question.
    pub messages: Vec<ModelMessage>,
    /// As in [`TurnInput::summary`](super::TurnInput::summary).
    pub summary: Option<String>,
}

/// Whether a high-risk call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Its tool was approved for good.
    Given,
    /// It was asked for under this id, and waits for a decision unless its review has one.
    Asked(ToolCallId),
}

/// What goes on while nothing of the answer comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activity<'a> {
    /// The model writes a call.
    WritingCall {
        /// The tool's name, as the model wrote it.
        tool_name: &'a str,
        /// Bytes of the arguments so far.
        bytes: usize,
    },
    /// The model could not be asked, and is asked again.
    Retrying(RetryWait),
    /// A call that runs says how far it is; at most four times a second.
    CallProgress {
        /// The call.
        id: ToolCallId,
        /// How far it is.
        progress: &'a Progress,
    },
}

/// What happened could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The turn is no longer this process's own, or is over: nothing more may happen in it here.
    #[error("The answer was ended elsewhere.")]
    LostLease,
    /// The answer's text is longer than any reader takes.
    #[error(
        "The answer grew beyond {limit} bytes, so it was ended. What was written so far is kept; ask for less at once."
    )]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The user has no tokens left for another step.
    #[error(
        "The tokens that you may use within 24 hours are used up ({limit}), so the answer was ended. What was written so far is \
         kept; continue it later, or ask an admin for more."
    )]
    OutOfTokens {
        /// The limit.
        limit: u64,
    },
    /// The storage takes nothing at the moment.
    #[error(
        "The database is out of reach, so the answer was ended. What was written so far is kept; try again in a moment."
    )]
    Unavailable(#[source] Cause),
    /// The storage has no room.
    #[error(
        "The database has no room left, so the answer was ended. What was written so far is kept; free some space and \
         try again."
    )]
    Full(#[source] Cause),
    /// The storage does not take what happened, however often it is tried.
    #[error("A part of the answer cannot be stored, so it was ended. What was written so far is kept.")]
    Rejected(#[source] Cause),
}

/// What the storage said, for the log.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

impl RecordError {
    /// The stable name of the cause, sent as `code` in the `error` event.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LostLease => "interrupted",
            Self::TooLong { .. } => "answer_too_long",
            Self::OutOfTokens { .. } => "out_of_tokens",
            Self::Unavailable(_) => "storage_unavailable",
            Self::Full(_) => "storage_full",
            Self::Rejected(_) => "storage_rejected",
        }
    }
}

/// A call about to run.
#[derive(Clone, Copy, Debug)]
pub struct StartedToolCall<'a> {
    /// The step, from 0.
    pub step: u32,
    /// The place in the step, from 0; a call that is made once more comes after all that were asked for.
    pub position: u32,
    /// What the model asked for, with the arguments to run with.
    pub request: &'a ToolCallRequest,
    /// Its id where it has one already, since it waited for consent.
    pub waited: Option<ToolCallId>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedToolCall {
    /// `success`, `error`, `denied`, `cancelled` or `interrupted`.
    pub status: ToolCallStatus,
    /// What it gave back, cut to the limit for storing.
    pub output: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// The kind of failure.
    pub error_type: Option<String>,
    /// How long it ran.
    pub duration_ms: i64,
}

/// What a model was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A step of an answer.
    Answer,
    /// The plan of an answer.
    Plan,
    /// Whether a step of the plan was done.
    Evaluate,
    /// What it thinks of a call.
    Review,
    /// A conversation's title.
    Title,
    /// What was said in a conversation so far, in a few words.
    Summary,
    /// What was done for an answer, and why, in a few lines.
    ReasoningSummary,
}

impl Purpose {
    /// The word in the tables.
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

/// One model call, as the tables keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCallRecord {
    /// The step, from 0; the one whose call was reviewed.
    pub step: u32,
    /// What the model was asked for.
    pub purpose: Purpose,
    /// The provider's name.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Why the model stopped; absent when it failed.
    pub stop_reason: Option<String>,
    /// Tokens of this call.
    pub usage: Usage,
    /// How often the provider was asked until it answered, or was given up.
    pub attempts: u32,
    /// From the question to the first sign of an answer.
    pub time_to_first_token_ms: Option<i64>,
    /// From the question to the end of the answer, without the tools.
    pub duration_ms: i64,
    /// Why the model failed.
    pub error: Option<String>,
    /// The blocks of the answer as JSON, for telling the step to a model again.
    pub blocks: String,
}
