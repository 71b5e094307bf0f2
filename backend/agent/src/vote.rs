//! What reviewing models say of a call, and what their votes decide. How they are asked, and counted, is in `review`.

use tallybook_protocol::{Decision, Usage, Verdict};

/// What one model thinks of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The catalog's name of the model.
    pub model: String,
    /// Its vote.
    pub verdict: Verdict,
    /// Why, in its words; or why it has no vote.
    pub reason: String,
    /// What that cost.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: i64,
}

/// What reviewers said of a call. Without any it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Their votes, in the order of the settings.
    pub votes: Vec<Vote>,
    /// What the votes decide; absent where a person has to.
    pub ruling: Option<Ruling>,
}

/// What votes decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Whether the call runs.
    pub decision: Decision,
    /// What those said who decided.
    pub reason: String,
}

impl Ruling {
    /// Said of a refused call, to the model and to readers.
    pub fn refusal(&self) -> String {
        format!("Reviewing models refused this call, so it did not run. {}", self.reason)
    }
}
