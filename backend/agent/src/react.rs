//! The agent loop of an answer: calls the model, runs its tool calls, adds their results to the prompt, and repeats
//! until the model asks for no more calls.
//!
//! A normal answer is one run. A planned answer is one run per plan step plus a final run for the text. Limits and step
//! numbers carry over from one run to the next.

use std::sync::Arc;

use tallybook_llm::{ModelClient, ModelRequest, Sampling, StopReason, ToolChoice, ToolResult, tokens};
use tallybook_protocol::Usage;
use tallybook_tools::{ToolRegistry, UserKey};

use super::{
    ask::{Answer, Redaction, ask},
    error::AgentError,
    model_context::ModelContext,
    recorder::TurnRecorder,
    turn::{AnsweredStep, AvailableTools, EndReason, PlannedCall, TurnDeadline, TurnOutcome},
};
use crate::tool_step::ToolRunner;

/// Stop reason of a turn that used up its steps or its calls.
pub const STEP_LIMIT: &str = "step_limit";

/// The text of a turn that ended with [`STEP_LIMIT`] and whose model wrote none in the last step.
pub(crate) const STEP_LIMIT_TEXT: &str = "I reached the step limit before I was done. Ask me to continue.";

/// Stop reason of a turn whose last step has calls that the API client is to run.
pub const CLIENT_CALLS: &str = "client_calls";

/// A running turn.
pub(crate) struct AgentLoop<'a, R> {
    pub(crate) runner: &'a ToolRunner,
    pub(crate) model: &'a dyn ModelClient,
    pub(crate) tools: &'a ToolRegistry,
    /// The user key of its calls.
    pub(crate) user_key: UserKey,
    pub(crate) available: &'a AvailableTools,
    pub(crate) sampling: Sampling,
    pub(crate) recorder: &'a mut R,
    pub(crate) turn_deadline: TurnDeadline<'a>,
    pub(crate) context: ModelContext,
    /// The number of the next step.
    pub(crate) step: u32,
    /// Number of steps that count against the limit.
    pub(crate) whole_steps: u32,
    /// Number of calls that the model asked for.
    pub(crate) calls: usize,
    pub(crate) usage: Usage,
}

/// The end of a run.
pub(crate) enum RunEnd {
    /// The run is over.
    Over {
        /// The model's stop reason, or `step_limit` or `client_calls`.
        stop_reason: String,
        /// The text that the model wrote in the last step.
        final_text: String,
    },
    /// Calls wait for a user's decision.
    AwaitsApproval,
}

impl<R: TurnRecorder> AgentLoop<'_, R> {
    /// Returns `true` if no further step may call tools.
    pub(crate) fn is_used_up(&self) -> bool {
        let limits = &self.runner.limits;
        self.whole_steps >= limits.steps || self.calls >= limits.calls
    }

    /// Runs to the end, or until calls wait for approval. A resumed run continues from the step in `answered`.
    pub(crate) async fn run(
        &mut self,
        answered: Option<AnsweredStep>,
        tool_choice: &ToolChoice,
    ) -> Result<RunEnd, AgentError> {
        let end = self.run_steps(answered, tool_choice).await?;
        // No further model call settles the last results.
        self.recorder.settle().await?;
        Ok(end)
    }

    async fn run_steps(
        &mut self,
        answered: Option<AnsweredStep>,
        tool_choice: &ToolChoice,
    ) -> Result<RunEnd, AgentError> {
        if let Some(before) = answered {
            if self.whole_steps > self.runner.limits.steps {
                return Ok(self.over_before(STEP_LIMIT));
            }
            if !before.has_calls && before.stop_reason != StopReason::Pause.as_str() {
                // The answer was complete; only the end of the turn had not been stored.
                return Ok(self.over_before(&before.stop_reason));
            }
            let (server_calls, has_client_calls) = self.available.server_calls(before.calls);
            let Some(results) = self.run_calls(before.step, &server_calls).await? else {
                return Ok(RunEnd::AwaitsApproval);
            };
            if has_client_calls {
                return Ok(self.over_before(CLIENT_CALLS));
            }
            self.context.add_results(results);
        }
        loop {
            let last = self.is_used_up();
            let tool_choice = if last { ToolChoice::None } else { tool_choice.clone() };
            let step = self.step;
            self.step += 1;
            let answer = match self.ask(step, tool_choice).await {
                Ok(answer) => answer,
                Err(error) => {
                    self.context.shorten_after(error, self.recorder).await?;
                    continue;
                }
            };
            let asked = answer.calls();
            self.calls += asked.len();
            let (server_calls, has_client_calls) = self.available.server_calls(asked);
            let Some(results) = self.run_calls(step, &server_calls).await? else { return Ok(RunEnd::AwaitsApproval) };
            if has_client_calls {
                return Ok(over(CLIENT_CALLS, answer.text()));
            }
            let paused = answer.stop_reason == StopReason::Pause;
            if last || (results.is_empty() && !paused) {
                let stop_reason = if last { STEP_LIMIT } else { answer.stop_reason.as_str() };
                let end = over(stop_reason, answer.text());
                self.context.add_step(answer.blocks, results);
                return Ok(end);
            }
            self.context.add_step(answer.blocks, results);
            self.whole_steps += 1;
        }
    }

    /// Calls the model once and records its answer.
    async fn ask(&mut self, step: u32, tool_choice: ToolChoice) -> Result<Answer, AgentError> {
        let may_call = tool_choice != ToolChoice::None;
        let request = ModelRequest {
            system: self.context.system(),
            messages: self.context.messages(),
            tools: Arc::clone(&self.available.specs),
            tool_choice,
            sampling: self.sampling.clone(),
            may_search: true,
        };
        self.recorder.before_step(|| tokens::of_request(&request)).await?;
        let redaction = Redaction { available: self.available, secrets: &self.runner.secrets };
        let mut answer = ask(self.model, step, request, &redaction, self.recorder, &self.turn_deadline).await?;
        self.usage += answer.usage;
        if !may_call {
            answer.drop_calls();
        }
        self.recorder.model_called(&answer.record(step, self.model.info(), None)).await?;
        Ok(answer)
    }

    /// Runs the calls of a step. Returns their results, or `None` if some of the calls wait for approval.
    async fn run_calls(&mut self, step: u32, calls: &[PlannedCall]) -> Result<Option<Vec<ToolResult>>, AgentError> {
        let asked_for = self.context.question();
        let end = self
            .runner
            .run((self.tools, self.user_key), &asked_for, step, calls, self.recorder, &self.turn_deadline)
            .await?;
        self.usage += end.usage;
        Ok(end.results)
    }

    /// Returns the end of a run whose last step was answered before the turn resumed.
    fn over_before(&self, stop_reason: &str) -> RunEnd {
        over(stop_reason, self.context.final_text())
    }

    /// Returns the outcome of the turn from the end of its last run.
    pub(crate) fn outcome(&self, end: RunEnd) -> TurnOutcome {
        let reason = match end {
            RunEnd::Over { stop_reason, .. } => EndReason::Over(stop_reason),
            RunEnd::AwaitsApproval => EndReason::AwaitsApproval,
        };
        TurnOutcome { reason, usage: self.usage }
    }
}

fn over(stop_reason: &str, final_text: String) -> RunEnd {
    RunEnd::Over { stop_reason: stop_reason.to_owned(), final_text }
}
