//! What a model wrote in a turn for people to read, and by what plan.

use tallybook_protocol::{Plan, Reasoning};

/// The words of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The answer's text.
    pub content: String,
    /// What the model showed of its thinking, step by step.
    pub reasoning: Vec<Reasoning>,
    /// The plan that it is made by.
    pub plan: Option<Plan>,
}
