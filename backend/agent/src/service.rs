//! A turn from its beginning to its end: the model is asked, its calls are run, it is told their results, and so on.

use std::sync::Arc;

use tallybook_llm::{ModelClient, ModelMessage, ModelRequest, StopReason, ToolChoice, ToolResult};
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolRegistry;
use tokio_util::sync::CancellationToken;

use super::{
    ask::ask,
    error::AgentError,
    halt::Halt,
    limits::Limits,
    prompt::SystemPrompt,
    recorder::TurnRecorder,
    tool_step::ToolRunner,
    turn::{ResumedTurn, TurnInput, TurnOutcome},
};

/// Why a turn ended that had used up its steps, or its calls.
const STEP_LIMIT: &str = "step_limit";

/// Runs turns with one model and one set of tools.
#[derive(Clone)]
pub struct AgentService {
    model: Arc<dyn ModelClient>,
    tools: ToolRunner,
    prompt: SystemPrompt,
    limits: Limits,
}

impl AgentService {
    /// An agent over this model and these tools. Its clones share the limit on calls that run at the same time, so a
    /// process has one agent and clones it.
    pub fn new(model: Arc<dyn ModelClient>, tools: Arc<ToolRegistry>, prompt: SystemPrompt, limits: Limits) -> Self {
        Self { model, tools: ToolRunner::new(tools, limits), prompt, limits }
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
        self.tools.registry()
    }

    /// Runs one turn to its end. However it ends, every call that was recorded as started has been recorded as ended,
    /// unless recording itself failed.
    pub async fn run(
        &self,
        input: TurnInput,
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, AgentError> {
        let specs = self.tools().specs();
        let system = vec![self.prompt.render(&specs)?];
        let halt = Halt::new(cancel, self.limits.turn_time);
        let mut messages = input.history;
        let ResumedTurn { answered, next_step: mut step, mut whole_steps, mut calls, mut usage } =
            input.resumed.unwrap_or_default();
        if let Some(before) = answered {
            if whole_steps > self.limits.steps {
                return Ok(TurnOutcome { stop_reason: STEP_LIMIT.to_owned(), usage });
            }
            if !before.has_calls && before.stop_reason != StopReason::Pause.as_str() {
                // The answer was whole; only its end had not been written down.
                return Ok(TurnOutcome { stop_reason: before.stop_reason, usage });
            }
            add_results(&mut messages, self.tools.run(before.step, &before.calls, recorder, &halt).await?);
        }
        loop {
            let last = whole_steps >= self.limits.steps || calls >= self.limits.calls;
            let request = ModelRequest {
                system: system.clone(),
                messages: messages.clone(),
                tools: Arc::clone(&specs),
                tool_choice: if last { ToolChoice::None } else { ToolChoice::Auto },
            };
            let mut answer = ask(&*self.model, step, request, recorder, &halt).await?;
            usage += answer.usage;
            if last {
                answer.drop_calls();
            }
            recorder.step_answered(&answer.record(step, self.model.info(), None)).await?;
            let asked = answer.calls();
            calls += asked.len();
            let results = self.tools.run(step, &asked, recorder, &halt).await?;
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
            .field("tools", self.tools())
            .finish_non_exhaustive()
    }
}
