//! Settings of the models that review high-risk tool calls, and the connections to these models.

use std::{fmt, time::Duration};

use tallybook_agent::{ReviewMode, Reviewers};

use super::Catalog;

/// The section `[review]` of the settings file.
#[derive(Clone, Debug)]
pub struct ReviewSettings {
    /// Catalog names of the reviewers. Each names a model in the catalog that can review.
    pub models: Vec<String>,
    /// Mode: votes advise the user, or decide.
    pub mode: ReviewMode,
    /// Minimum number of votes for a decision.
    pub quorum: usize,
    /// Timeout for all votes on the calls of one step.
    pub timeout: Duration,
}

impl ReviewSettings {
    /// Default of `timeout`, in seconds.
    pub const DEFAULT_TIMEOUT_SECS: u64 = 30;

    /// Maximum of `timeout`, in seconds. The time counts toward the turn's timeout.
    pub const MAX_TIMEOUT_SECS: u64 = 600;

    /// Returns the reviewers that the catalog has. Reviewers that are not available cast no votes.
    pub fn reviewers(&self, catalog: &Catalog) -> Reviewers {
        let models = self.models.iter().filter_map(|name| catalog.find(name)?.reviewer()).collect();
        Reviewers { models, mode: self.mode, quorum: self.quorum, timeout: self.timeout }
    }
}

impl fmt::Display for ReviewSettings {
    /// Describes the settings in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { models, mode, quorum, timeout } = self;
        let names = models.join(", ");
        match mode {
            ReviewMode::Advise => write!(f, "{names} advise on high-risk calls, and a person decides")?,
            ReviewMode::Decide => write!(f, "{names} decide on high-risk calls by {quorum} votes or more")?,
        }
        write!(f, "; they have {} seconds", timeout.as_secs())
    }
}
