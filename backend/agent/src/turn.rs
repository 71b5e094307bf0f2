//! What a turn starts from, what it goes on from, and how it ends.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use tallybook_llm::{ModelClient, ModelMessage, Sampling, ToolCallRequest, ToolChoice};
use tallybook_protocol::{Plan, PlanStepId, ToolCallId, Usage};
use tallybook_tools::{Risk, Secrets, ToolRegistry, ToolSpec, Whose};

use super::{recorder::StartedToolCall, secret_input::SecretInput, zone::Zone};

/// What a turn starts from.
#[derive(Clone, Debug, Default)]
pub struct TurnInput {
    /// The conversation up to and including the user's message and what was answered before, oldest first. Every call in
    /// it has its result, but for those that `continued` names.
    pub history: Vec<ModelMessage>,
    /// What the model is told after the agent's own prompt, before the history.
    pub system: Vec<String>,
    /// What a model made of the conversation before the history, where that does not begin with its first message.
    pub summary: Option<String>,
    /// How the model is to write.
    pub sampling: Sampling,
    /// Set when the turn goes on after it was cut off, or after it waited for consent.
    pub continued: Option<ContinuedTurn>,
    /// What the person who asks tells every model; empty where that is nothing.
    pub instructions: String,
    /// The time zone of the date in the prompt.
    pub zone: Zone,
    /// Whose its calls are.
    pub whose: Whose,
    /// The tools that the turn may use, to its end, whatever becomes of them elsewhere.
    pub tools: Arc<ToolRegistry>,
    /// Tools of the program that asks, which win a clash of names. A step with calls of them is the turn's last: ours are
    /// run, theirs are the program's to run.
    pub client_tools: Vec<ToolSpec>,
    /// Whether the model may call tools, or must.
    pub tool_choice: ToolChoice,
    /// Set when the question is answered by a plan.
    pub planning: Option<Planning>,
}

/// How a question is answered by a plan.
#[derive(Clone)]
pub struct Planning {
    /// What makes the plan; the model that answers works on it and judges its steps.
    pub planner: Arc<dyn ModelClient>,
    /// How often one step is tried.
    pub max_attempts: u32,
    /// How often all steps together are.
    pub max_total_attempts: u32,
}

impl fmt::Debug for Planning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner, max_attempts, max_total_attempts } = self;
        let mut planning = f.debug_struct("Planning");
        planning.field("planner", planner.info()).field("max_attempts", max_attempts);
        planning.field("max_total_attempts", max_total_attempts).finish()
    }
}

/// A plan on which a turn goes on.
#[derive(Clone, Debug, Default)]
pub struct ContinuedPlan {
    /// As it stands.
    pub plan: Plan,
    /// What came of those of its steps that have ended.
    pub results: HashMap<PlanStepId, String>,
}

/// Where a turn goes on that was cut off or has waited: after its last whole step.
#[derive(Clone, Debug, Default)]
pub struct ContinuedTurn {
    /// The last step whose answer is whole; absent when there is none.
    pub answered: Option<AnsweredStep>,
    /// The number of the next step.
    pub next_step: u32,
    /// How many steps were whole; those that broke off do not count against the limit.
    pub whole_steps: u32,
    /// How many calls were made.
    pub calls: usize,
    /// Tokens of the steps so far.
    pub usage: Usage,
    /// What it has used up of its time.
    pub active: Duration,
    /// The plan on which it goes on, where it had one. Then `answered`, and what of the history follows the question, are
    /// those of the step that is worked on, or of the words at the end.
    pub plan: Option<ContinuedPlan>,
}

/// A step whose answer is whole, though perhaps not all of its calls were run.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// Its place in the step.
    pub position: u32,
    /// What the model asked for, with the arguments to run with.
    pub request: ToolCallRequest,
    /// What became of it when it waited for consent; absent where it never did.
    pub waited: Option<WaitedCall>,
    /// What it runs with, where some of that is secret and left out of `request`. It is in memory alone, and soon gone.
    pub secret: Option<SecretInput>,
}

impl PlannedCall {
    /// What of its arguments nobody reads in what its tool says.
    pub(super) fn secret_values(&self) -> Secrets {
        self.secret.as_ref().map(|secret| secret.values.clone()).unwrap_or_default()
    }

    /// Returns whether the call is of high risk.
    pub(super) fn needs_consent(&self, tools: &ToolRegistry) -> bool {
        tools.risk_of(&self.request.name, &self.request.input_text) == Some(Risk::High)
    }

    /// The call as it is told when it wants to run.
    pub(super) fn started(&self, step: u32) -> StartedToolCall<'_> {
        let waited = self.waited.as_ref().map(|waited| waited.id);
        StartedToolCall { step, position: self.position, request: &self.request, waited }
    }
}

/// A call that waited for consent and was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedCall {
    /// Its id since it was asked for.
    pub id: ToolCallId,
    /// [`tallybook_tools::ToolSpec::hash`] of the tool that was approved. Another tool is asked for anew.
    pub tool_hash: String,
    /// Whether a person changed its arguments.
    pub is_edited: bool,
}

/// How a run of a turn ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    /// Why it ended.
    pub reason: EndReason,
    /// Tokens of all steps.
    pub usage: Usage,
}

/// Why a run of a turn ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The turn is over. The word is the model's stop reason, `step_limit` or `client_calls`.
    Over(String),
    /// Calls wait for a person's decision. Nothing of the turn is left in memory: it goes on as a [`ContinuedTurn`].
    AwaitsApproval,
}
