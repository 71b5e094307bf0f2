//! The loop between a model and its tools. It knows no SQL and no HTTP: what has to be stored or shown goes through a
//! [`TurnRecorder`], whose every call returns only when that is done.

mod ask;
mod error;
mod prompt;
mod recorder;
mod result;
#[cfg(test)]
mod tests;
mod title;
mod tool_step;

use std::{sync::Arc, time::Duration};

use tallybook_protocol::{ModelInfo, Usage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    llm::{ModelClient, ModelMessage, ModelRequest, StopReason, ToolChoice},
    tools::ToolRegistry,
};

pub use error::AgentError;
pub use prompt::SystemPrompt;
pub use recorder::{EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder};
pub use result::{error_json, success_json};
pub use title::TitleWriter;

/// What a turn may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps that may call tools; one more answers without.
    pub steps: u32,
    /// The whole turn.
    pub turn_time: Duration,
    /// One tool call.
    pub tool_time: Duration,
    /// Bytes of a tool's output or error that are kept.
    pub stored_output_bytes: usize,
    /// Bytes of it that the model is shown.
    pub model_output_bytes: usize,
    /// Bytes of earlier turns that the model is told.
    pub history_bytes: usize,
    /// Whether high-risk tools run. As long as nobody can be asked, they are refused.
    pub high_risk: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10,
            turn_time: Duration::from_mins(5),
            tool_time: Duration::from_secs(30),
            stored_output_bytes: 1024 * 1024,
            model_output_bytes: 64 * 1024,
            history_bytes: 512 * 1024,
            high_risk: false,
        }
    }
}

/// What a turn starts from: the conversation up to and including the user's message.
#[derive(Clone, Debug)]
pub struct TurnInput {
    /// Oldest first; every call in it has its result.
    pub history: Vec<ModelMessage>,
}

/// How a turn ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    /// The word for why it ended: the model's [`StopReason`], or `step_limit`.
    pub stop_reason: String,
    /// Tokens of all steps.
    pub usage: Usage,
}

/// Runs turns with one model and one set of tools.
#[derive(Clone)]
pub struct AgentService {
    model: Arc<dyn ModelClient>,
    tools: Arc<ToolRegistry>,
    prompt: SystemPrompt,
    limits: Limits,
}

impl AgentService {
    /// An agent over this model and these tools.
    pub fn new(model: Arc<dyn ModelClient>, tools: Arc<ToolRegistry>, prompt: SystemPrompt, limits: Limits) -> Self {
        Self { model, tools, prompt, limits }
    }

    /// Which model answers.
    pub fn model_info(&self) -> &ModelInfo {
        self.model.info()
    }

    /// What a turn may use up.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The tools on offer.
    pub fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// Runs one turn to its end. However it ends, every call that was recorded as started has been recorded as ended,
    /// unless recording itself failed.
    pub async fn run(
        &self,
        input: TurnInput,
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, AgentError> {
        let specs = self.tools.specs();
        let system = self.prompt.render(&specs)?;
        let deadline = Instant::now() + self.limits.turn_time;
        let mut messages = input.history;
        let mut usage = Usage::default();
        for step in 0..=self.limits.steps {
            let last = step == self.limits.steps;
            let request = ModelRequest {
                system: system.clone(),
                messages: messages.clone(),
                tools: Arc::clone(&specs),
                tool_choice: if last { ToolChoice::None } else { ToolChoice::Auto },
            };
            let mut answer = self.ask(step, request, recorder, cancel, deadline).await?;
            add_usage(&mut usage, answer.usage);
            let calls = if last { answer.drop_calls() } else { answer.calls() };
            let results = self.run_tools(step, &calls, recorder, cancel, deadline).await;
            if !matches!(results, Err(AgentError::Record(_))) {
                // The answer was whole, whatever became of its calls.
                recorder.step_ended(&answer.record(step, self.model.info(), None)).await?;
            }
            let results = results?;
            let paused = answer.stop_reason == StopReason::Pause;
            if last || (results.is_empty() && !paused) {
                let stop_reason = if last { "step_limit" } else { answer.stop_reason.as_str() };
                return Ok(TurnOutcome { stop_reason: stop_reason.to_owned(), usage });
            }
            messages.push(ModelMessage::Assistant(answer.blocks));
            if !results.is_empty() {
                messages.push(ModelMessage::ToolResults(results));
            }
        }
        // The last pass above always returns; this is only what the type system cannot see.
        Ok(TurnOutcome { stop_reason: "step_limit".to_owned(), usage })
    }
}

impl std::fmt::Debug for AgentService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentService")
            .field("model", self.model.info())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

fn add_usage(sum: &mut Usage, step: Usage) {
    sum.input_tokens = sum.input_tokens.saturating_add(step.input_tokens);
    sum.output_tokens = sum.output_tokens.saturating_add(step.output_tokens);
    sum.cached_tokens = sum.cached_tokens.saturating_add(step.cached_tokens);
}
