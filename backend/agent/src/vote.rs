//! The votes of reviewing models on a call, and the outcome of the review. `review` asks for the votes and counts them.

use tallybook_protocol::{Decision, Usage, Verdict};

/// One model's vote on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The model's name in the catalog.
    pub model: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The model's reason, or why the model did not vote.
    pub reason: String,
    /// Tokens that the model call used.
    pub usage: Usage,
    /// Duration of the model call, in milliseconds.
    pub duration_ms: i64,
}

/// The review of a call. Empty if there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// The votes, in the order of the reviewers in the settings.
    pub votes: Vec<Vote>,
    /// The decision of the votes; `None` if the user must decide.
    pub outcome: Option<ReviewDecision>,
}

/// The decision of the votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDecision {
    /// The decision on whether the call runs.
    pub decision: Decision,
    /// The reasons of the models in the majority.
    pub reason: String,
}

impl ReviewDecision {
    /// Returns the text for the model and for users if the votes refused the call.
    pub fn refusal(&self) -> String {
        format!("Reviewing models refused this call, so it did not run. {}", self.reason)
    }
}
