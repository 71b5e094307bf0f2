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
    llm::{ModelClient, ModelMessage, ModelRequest, StopReason, ToolCallRequest, ToolChoice, ToolResult},
    tools::ToolRegistry,
};

pub use error::AgentError;
pub use prompt::SystemPrompt;
pub use recorder::{EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder};
pub use result::{error_json, success_json};
pub use title::TitleWriter;
pub use tool_step::CUT_OFF;

/// Why a turn ended that had used up its steps.
const STEP_LIMIT: &str = "step_limit";

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

/// What a turn starts from.
#[derive(Clone, Debug)]
pub struct TurnInput {
    /// The conversation up to and including the user's message and what was answered before, oldest first. Every call in
    /// it has its result, but for those that `resumed` names.
    pub history: Vec<ModelMessage>,
    /// Set when the turn goes on after it was cut off.
    pub resumed: Option<ResumedTurn>,
}

/// Where a turn goes on that was cut off: after its last whole step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumedTurn {
    /// The last step whose answer is whole; absent when there is none.
    pub answered: Option<AnsweredStep>,
    /// The number of the next step.
    pub next_step: u32,
    /// How many steps were whole; those that broke off do not count against the limit.
    pub whole_steps: u32,
    /// Tokens of the steps so far.
    pub usage: Usage,
}

/// A step whose answer is whole, though perhaps not all of its calls were run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredStep {
    /// Its number.
    pub step: u32,
    /// Why the model stopped, as the step's record has it.
    pub stop_reason: String,
    /// Whether it asked for calls at all.
    pub has_calls: bool,
    /// Those of its calls that are to run now.
    pub calls: Vec<PlannedCall>,
}

/// A call that is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    /// Its place in the step.
    pub position: u32,
    /// What the model asked for.
    pub request: ToolCallRequest,
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
        let ResumedTurn { answered, next_step: mut step, mut whole_steps, mut usage } =
            input.resumed.unwrap_or_default();
        if let Some(before) = answered {
            if whole_steps > self.limits.steps {
                return Ok(TurnOutcome { stop_reason: STEP_LIMIT.to_owned(), usage });
            }
            if !before.has_calls && before.stop_reason != StopReason::Pause.as_str() {
                // The answer was whole; only its end had not been written down.
                return Ok(TurnOutcome { stop_reason: before.stop_reason, usage });
            }
            add_results(&mut messages, self.run_tools(before.step, &before.calls, recorder, cancel, deadline).await?);
        }
        loop {
            let last = whole_steps >= self.limits.steps;
            let request = ModelRequest {
                system: system.clone(),
                messages: messages.clone(),
                tools: Arc::clone(&specs),
                tool_choice: if last { ToolChoice::None } else { ToolChoice::Auto },
            };
            let mut answer = self.ask(step, request, recorder, cancel, deadline).await?;
            usage += answer.usage;
            if last {
                answer.drop_calls();
            }
            recorder.step_answered(&answer.record(step, self.model.info(), None)).await?;
            let results = self.run_tools(step, &answer.calls(), recorder, cancel, deadline).await?;
            let paused = answer.stop_reason == StopReason::Pause;
            if last || (results.is_empty() && !paused) {
                let stop_reason = if last { STEP_LIMIT } else { answer.stop_reason.as_str() };
                return Ok(TurnOutcome { stop_reason: stop_reason.to_owned(), usage });
            }
            messages.push(ModelMessage::Assistant(answer.blocks));
            add_results(&mut messages, results);
            step += 1;
            whole_steps += 1;
        }
    }
}

/// Adds the results of a step's calls; those that came before the turn was cut off stand there already.
fn add_results(messages: &mut Vec<ModelMessage>, new: Vec<ToolResult>) {
    if let Some(ModelMessage::ToolResults(known)) = messages.last_mut() {
        known.extend(new);
    } else if !new.is_empty() {
        messages.push(ModelMessage::ToolResults(new));
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
