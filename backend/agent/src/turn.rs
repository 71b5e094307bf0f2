//! What a turn starts from, what it goes on from, and how it ends.

use tallybook_llm::{ModelMessage, ToolCallRequest};
use tallybook_protocol::Usage;

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
    /// How many calls were made.
    pub calls: usize,
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
    /// The word for why it ended: the model's stop reason, or `step_limit`.
    pub stop_reason: String,
    /// Tokens of all steps.
    pub usage: Usage,
}
