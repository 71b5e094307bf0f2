//! Settings of the models that review high-risk tool calls, and the connections to these models.

use std::{fmt, time::Duration};

use tallybook_agent::{ReviewMode, Reviewer, Reviewers};

use super::{CatalogError, ModelEntry};

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
    /// Creates clients for the reviewers. Sends no requests.
    pub fn connect(&self, entries: &[ModelEntry]) -> Result<Reviewers, CatalogError> {
        let mut models = Vec::new();
        for entry in self.models.iter().filter_map(|name| entries.iter().find(|entry| entry.name == *name)) {
            let failed = |source| CatalogError::Model { origin: entry.origin.clone(), source };
            if let Some(client) = entry.choice.connect_for_reviews().map_err(failed)? {
                models.push(Reviewer { name: entry.name.clone(), model: entry.priced(client) });
            }
        }
        Ok(Reviewers { models, mode: self.mode, quorum: self.quorum, timeout: self.timeout })
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
