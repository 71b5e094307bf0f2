//! The loop of an answer: the model is asked, its calls are run, it is told their results, and so on until it asks for none.
//! An answer is one such run, or by a plan one for each of its steps and one for the words at the end: what all of them
//! together may use up, and the numbers of their steps, go on from one to the next.

use std::sync::Arc;

use tallybook_llm::{ModelClient, ModelRequest, Sampling, StopReason, ToolChoice, ToolResult, tokens};
use tallybook_protocol::Usage;
use tallybook_tools::{ToolRegistry, Whose};

use super::{
    ask::{Answer, ask},
    error::AgentError,
    halt::Halt,
    hiding::Hiding,
    offer::Offer,
    recorder::TurnRecorder,
    step_run::ToolRunner,
    told::Told,
    turn::{AnsweredStep, EndReason, PlannedCall, TurnOutcome},
};

/// Why a turn ended that had used up its steps, or its calls.
pub const STEP_LIMIT: &str = "step_limit";

/// The answer of a turn that ended with [`STEP_LIMIT`] and whose model said nothing in the last step.
pub(super) const STEP_LIMIT_WORDS: &str =
    "I used up the steps that one answer may have before I was done. Ask me to continue.";

/// Why a turn ended whose last step has calls that the program that asks is to run.
pub const CLIENT_CALLS: &str = "client_calls";

/// A turn that runs.
pub(super) struct React<'a, R> {
    pub(super) runner: &'a ToolRunner,
    pub(super) model: &'a dyn ModelClient,
    pub(super) tools: &'a ToolRegistry,
    /// Whose its calls are.
    pub(super) whose: Whose,
    pub(super) offer: &'a Offer,
    pub(super) sampling: Sampling,
    pub(super) recorder: &'a mut R,
    pub(super) halt: Halt<'a>,
    pub(super) told: Told,
    /// The number of the next step.
    pub(super) step: u32,
    /// Steps that count against the limit.
    pub(super) whole_steps: u32,
    /// Calls that were asked for.
    pub(super) calls: usize,
    pub(super) usage: Usage,
}

/// How a run ended.
pub(super) enum RunEnd {
    /// The model asked for no more.
    Over {
        /// Its stop reason, or `step_limit` or `client_calls`.
        stop_reason: String,
        /// What it said in the last step.
        last_words: String,
    },
    /// Calls wait for a person's decision.
    AwaitsApproval,
}

impl<R: TurnRecorder> React<'_, R> {
    /// Whether no step may call tools any more.
    pub(super) fn is_used_up(&self) -> bool {
        let limits = &self.runner.limits;
        self.whole_steps >= limits.steps || self.calls >= limits.calls
    }

    /// Runs to its end, or to where calls wait for consent; from what was answered before, if the run goes on.
    pub(super) async fn run(
        &mut self,
        answered: Option<AnsweredStep>,
        tool_choice: &ToolChoice,
    ) -> Result<RunEnd, AgentError> {
        let end = self.run_steps(answered, tool_choice).await?;
        // Where no model is asked any more.
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
                // The answer was whole; only its end had not been written down.
                return Ok(self.over_before(&before.stop_reason));
            }
            let (ours, has_theirs) = self.offer.ours(before.calls);
            let Some(results) = self.run_calls(before.step, &ours).await? else { return Ok(RunEnd::AwaitsApproval) };
            if has_theirs {
                return Ok(self.over_before(CLIENT_CALLS));
            }
            self.told.add_results(results);
        }
        loop {
            let last = self.is_used_up();
            let tool_choice = if last { ToolChoice::None } else { tool_choice.clone() };
            let step = self.step;
            self.step += 1;
            let answer = match self.ask(step, tool_choice).await {
                Ok(answer) => answer,
                Err(error) => {
                    self.told.shorten_after(error, self.recorder).await?;
                    continue;
                }
            };
            let asked = answer.calls();
            self.calls += asked.len();
            let (ours, has_theirs) = self.offer.ours(asked);
            let Some(results) = self.run_calls(step, &ours).await? else { return Ok(RunEnd::AwaitsApproval) };
            if has_theirs {
                return Ok(over(CLIENT_CALLS, answer.text()));
            }
            let paused = answer.stop_reason == StopReason::Pause;
            if last || (results.is_empty() && !paused) {
                let stop_reason = if last { STEP_LIMIT } else { answer.stop_reason.as_str() };
                let end = over(stop_reason, answer.text());
                self.told.add_step(answer.blocks, results);
                return Ok(end);
            }
            self.told.add_step(answer.blocks, results);
            self.whole_steps += 1;
        }
    }

    /// Asks the model once, and records what it answers.
    async fn ask(&mut self, step: u32, tool_choice: ToolChoice) -> Result<Answer, AgentError> {
        let may_call = tool_choice != ToolChoice::None;
        let request = ModelRequest {
            system: self.told.system(),
            messages: self.told.messages(),
            tools: Arc::clone(&self.offer.specs),
            tool_choice,
            sampling: self.sampling.clone(),
            may_search: true,
        };
        self.recorder.before_step(|| tokens::of_request(&request)).await?;
        let hiding = Hiding { offer: self.offer, secrets: &self.runner.secrets };
        let mut answer = ask(self.model, step, request, &hiding, self.recorder, &self.halt).await?;
        self.usage += answer.usage;
        if !may_call {
            answer.drop_calls();
        }
        self.recorder.model_called(&answer.record(step, self.model.info(), None)).await?;
        Ok(answer)
    }

    /// Runs the calls of a step. Gives their results; nothing where some of them wait for consent.
    async fn run_calls(&mut self, step: u32, calls: &[PlannedCall]) -> Result<Option<Vec<ToolResult>>, AgentError> {
        let asked_for = self.told.question();
        let end = self.runner.run((self.tools, self.whose), &asked_for, step, calls, self.recorder, &self.halt).await?;
        self.usage += end.usage;
        Ok(end.results)
    }

    /// The end of a run whose last step was answered before.
    fn over_before(&self, stop_reason: &str) -> RunEnd {
        over(stop_reason, self.told.last_words())
    }

    /// How the turn ended with its last run.
    pub(super) fn outcome(&self, end: RunEnd) -> TurnOutcome {
        let reason = match end {
            RunEnd::Over { stop_reason, .. } => EndReason::Over(stop_reason),
            RunEnd::AwaitsApproval => EndReason::AwaitsApproval,
        };
        TurnOutcome { reason, usage: self.usage }
    }
}

fn over(stop_reason: &str, last_words: String) -> RunEnd {
    RunEnd::Over { stop_reason: stop_reason.to_owned(), last_words }
}
