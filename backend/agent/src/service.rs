//! A turn from its beginning to its end: the model is asked, its calls are run, it is told their results, and so on.

use std::sync::Arc;

use tallybook_llm::{ModelClient, ModelRequest, StopReason, ToolChoice, tokens};
use tallybook_protocol::Usage;
use tallybook_tools::{Secrets, ToolSpec};
use tokio_util::sync::CancellationToken;

use super::{
    ask::ask,
    error::AgentError,
    halt::Halt,
    hiding::Hiding,
    limits::Limits,
    offer::Offer,
    prompt::{SystemPrompt, instructions},
    recorder::TurnRecorder,
    review::Reviewers,
    step_run::ToolRunner,
    told::Told,
    turn::{ContinuedTurn, EndReason, TurnInput, TurnOutcome},
};

/// Why a turn ended that had used up its steps, or its calls.
pub const STEP_LIMIT: &str = "step_limit";

/// Why a turn ended whose last step has calls that the program that asks is to run.
pub const CLIENT_CALLS: &str = "client_calls";

/// Runs turns, each with the model and the tools that it is given.
#[derive(Clone)]
pub struct AgentService {
    runner: ToolRunner,
    prompt: SystemPrompt,
    limits: Limits,
}

impl AgentService {
    /// An agent with these limits. Its clones share the one on calls that run at the same time, so a process has one
    /// agent and clones it.
    pub fn new(prompt: SystemPrompt, limits: Limits) -> Self {
        Self { runner: ToolRunner::new(limits), prompt, limits }
    }

    /// The same with models that review high-risk calls.
    #[must_use]
    pub fn with_reviewers(self, reviewers: Reviewers) -> Self {
        Self { runner: self.runner.with_reviewers(reviewers), ..self }
    }

    /// The same, in whose calls nobody reads these.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { runner: self.runner.with_secrets(secrets), ..self }
    }

    pub(super) fn runner(&self) -> &ToolRunner {
        &self.runner
    }

    /// A text without what nobody may read.
    pub fn hide_secrets(&self, text: String) -> String {
        self.runner.secrets.hide(text).into_owned()
    }

    /// What a turn may use up.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// About how many tokens a model is told beside the history, in a turn with these tools.
    pub fn tokens_beside_history(&self, tools: &[ToolSpec]) -> Result<usize, AgentError> {
        Ok(tokens::of_text(&self.prompt.render(tools)?) + tokens::of_tools(tools))
    }

    /// Runs one turn with `model` to its end, or to where calls wait for consent. However it ends, every call that was
    /// recorded as started has been recorded as ended, unless recording itself failed.
    pub async fn run(
        &self,
        model: &dyn ModelClient,
        input: TurnInput,
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, AgentError> {
        let tools = input.tools;
        let offer = Offer::new(&tools, input.client_tools);
        let hiding = Hiding { offer: &offer, secrets: &self.runner.secrets };
        let mut system = vec![self.prompt.render(&offer.specs)?];
        system.extend(instructions(&input.instructions)?);
        system.extend(input.system);
        let mut told = Told::new(system, input.summary.as_deref(), input.history)?;
        let asked_for = told.question();
        let ContinuedTurn { answered, next_step: mut step, mut whole_steps, mut calls, mut usage, active } =
            input.continued.unwrap_or_default();
        let halt = Halt::new(cancel, self.limits.turn_time, active);
        if let Some(before) = answered {
            if whole_steps > self.limits.steps {
                return Ok(over(STEP_LIMIT, usage));
            }
            if !before.has_calls && before.stop_reason != StopReason::Pause.as_str() {
                // The answer was whole; only its end had not been written down.
                return Ok(over(&before.stop_reason, usage));
            }
            let (ours, has_theirs) = offer.ours(before.calls);
            let end = self.runner.run(&tools, &asked_for, before.step, &ours, recorder, &halt).await?;
            usage += end.usage;
            let Some(results) = end.results else { return Ok(waits(usage)) };
            if has_theirs {
                return Ok(over(CLIENT_CALLS, usage));
            }
            told.add_results(results);
        }
        loop {
            let last = whole_steps >= self.limits.steps || calls >= self.limits.calls;
            let tool_choice = if last { ToolChoice::None } else { input.tool_choice.clone() };
            let may_call = tool_choice != ToolChoice::None;
            let request = ModelRequest {
                system: told.system(),
                messages: told.messages(),
                tools: Arc::clone(&offer.specs),
                tool_choice,
                sampling: input.sampling.clone(),
            };
            let mut answer = match ask(model, step, request, &hiding, recorder, &halt).await {
                Ok(answer) => answer,
                Err(error) => {
                    told.shorten_after(error, recorder).await?;
                    step += 1;
                    continue;
                }
            };
            usage += answer.usage;
            if !may_call {
                answer.drop_calls();
            }
            recorder.model_called(&answer.record(step, model.info(), None)).await?;
            let asked = answer.calls();
            calls += asked.len();
            let (ours, has_theirs) = offer.ours(asked);
            let end = self.runner.run(&tools, &asked_for, step, &ours, recorder, &halt).await?;
            usage += end.usage;
            let Some(results) = end.results else { return Ok(waits(usage)) };
            if has_theirs {
                return Ok(over(CLIENT_CALLS, usage));
            }
            let paused = answer.stop_reason == StopReason::Pause;
            if last || (results.is_empty() && !paused) {
                let stop_reason = if last { STEP_LIMIT } else { answer.stop_reason.as_str() };
                return Ok(over(stop_reason, usage));
            }
            told.add_step(answer.blocks, results);
            step += 1;
            whole_steps += 1;
        }
    }
}

fn over(stop_reason: &str, usage: Usage) -> TurnOutcome {
    TurnOutcome { reason: EndReason::Over(stop_reason.to_owned()), usage }
}

fn waits(usage: Usage) -> TurnOutcome {
    TurnOutcome { reason: EndReason::AwaitsApproval, usage }
}

impl std::fmt::Debug for AgentService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentService").field("limits", &self.limits).finish_non_exhaustive()
    }
}
