//! The loop between a model and its tools. It knows no SQL and no HTTP: what has to be stored or shown goes through a
//! [`TurnRecorder`], whose every call returns only when that is done.

mod ask;
mod error;
mod halt;
mod limits;
mod prompt;
mod recorder;
mod result;
mod service;
#[cfg(test)]
mod tests;
mod title;
mod tool_step;
mod turn;

pub use error::AgentError;
pub use limits::Limits;
pub use prompt::SystemPrompt;
pub use recorder::{Activity, Cause, Consent, EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder};
pub use result::{EditedInput, error_json, success_json};
pub use service::AgentService;
pub use title::TitleWriter;
pub use tool_step::CUT_OFF;
pub use turn::{AnsweredStep, ContinuedTurn, EndReason, PlannedCall, TurnInput, TurnOutcome, WaitedCall};
