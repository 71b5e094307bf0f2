//! The agent loop between a model and its tools. It contains no SQL and no HTTP: everything to be stored or shown goes
//! through a [`TurnRecorder`], whose methods return only when that is done (the trait names the exceptions).

mod ask;
mod call_files;
mod error;
mod limits;
mod memory;
mod model_context;
mod plan;
mod prompt;
mod react;
mod reasoning;
mod recorder;
mod result;
mod review;
mod running;
mod service;
mod side_call;
mod spans;
mod standalone_call;
#[cfg(test)]
mod tests;
mod title;
mod tool_step;
mod turn;
mod vote;

pub use call_files::{CallFile, ImageStore, StoredImages};
pub use error::AgentError;
pub use limits::{Limits, MAX_REASON_CHARS, MAX_REVIEWED_CALLS, MAX_REVIEWERS};
pub use memory::{SummaryExchange, summarize_conversation};
pub use prompt::{SystemPrompt, Zone};
pub use react::{CLIENT_CALLS, STEP_LIMIT};
pub use reasoning::{MAX_REASONING_LINES, SummaryCall, explain_reasoning, reasoning_lines};
pub use recorder::{
    Activity, ApprovalRequest, Cause, Earlier, EndedToolCall, ModelCallRecord, NewPlan, NewPlanStep, PlanStepChange,
    Purpose, RecordError, StartedToolCall, TurnRecorder,
};
pub use result::{EditedInput, error_json, success_json};
pub use review::{ReviewMode, Reviewer, Reviewers};
pub use service::AgentService;
pub use side_call::SideCall;
pub use spans::{SPAN_TARGET, invoke_agent, record_failure, record_usage};
pub use title::TitleWriter;
pub use tool_step::OUTCOME_UNKNOWN;
pub use turn::{
    AnsweredStep, ContinuedPlan, EndReason, PendingApproval, PlannedCall, Planning, ResumeState, SecretInput,
    TurnInput, TurnOutcome,
};
pub use vote::{Review, ReviewDecision, Vote};
