//! What an agent tells as it goes. The recorder that stores and sends lives with the conversations; the one in memory,
//! with the agent's own tests.

use std::future::Future;

use tallybook_protocol::{ToolCallStatus, Usage};

use crate::llm::ToolCallRequest;

/// Takes down a turn. Every method returns only when what must be stored is stored, and then whoever follows the turn
/// has been told. After an error the agent does nothing more.
pub trait TurnRecorder: Send {
    /// The model wrote text.
    fn text(&mut self, delta: &str) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// A call is about to run. Gives the key of its row.
    fn tool_started(&mut self, call: &StartedToolCall<'_>) -> impl Future<Output = Result<i64, RecordError>> + Send;

    /// A call ended.
    fn tool_ended(&mut self, key: i64, end: &EndedToolCall) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// The model's answer of a step is whole, and none of its calls has begun; or the model failed in it.
    fn step_answered(&mut self, step: &StepRecord) -> impl Future<Output = Result<(), RecordError>> + Send;
}

/// What happened could not be stored.
#[derive(Debug, thiserror::Error)]
#[error(
    "The database is out of reach, so the answer was ended. What was written so far is kept; try again in a moment."
)]
pub struct RecordError {
    /// The cause, for the log.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl RecordError {
    /// Wraps the cause.
    pub fn new(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Box::new(source) }
    }
}

/// A call about to run.
#[derive(Clone, Copy, Debug)]
pub struct StartedToolCall<'a> {
    /// The step, from 0.
    pub step: u32,
    /// The place in the step, from 0; a call that is made once more comes after all that were asked for.
    pub position: u32,
    /// What the model asked for.
    pub request: &'a ToolCallRequest,
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

/// One model call, as the tables keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// The step, from 0.
    pub step: u32,
    /// The provider's name.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Why the model stopped; absent when it failed.
    pub stop_reason: Option<String>,
    /// Tokens of this step.
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
