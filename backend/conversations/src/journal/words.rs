//! The text, reasoning and plan that a model wrote in a turn.

use tallybook_protocol::{Plan, Reasoning};

/// An answer's text, reasoning and plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The answer's text.
    pub content: String,
    /// The model's reasoning, step by step.
    pub reasoning: Vec<Reasoning>,
    /// The answer's plan, in plan mode.
    pub plan: Option<Plan>,
}
