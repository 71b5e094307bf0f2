//! What a model wrote in a turn for people to read.

use tallybook_protocol::Reasoning;

/// The words of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The answer's text.
    pub content: String,
    /// What the model showed of its thinking, step by step.
    pub reasoning: Vec<Reasoning>,
}
