//! Which models review high-risk calls: what the settings say of them, and connecting to them.

use std::{fmt, time::Duration};

use tallybook_agent::{ReviewMode, Reviewer, Reviewers};

use super::{CatalogError, ModelEntry};

/// `[review]`.
#[derive(Clone, Debug)]
pub struct ReviewSettings {
    /// Names of the catalog, which are there and can review.
    pub models: Vec<String>,
    /// What their votes are good for.
    pub mode: ReviewMode,
    /// How many votes must be cast so that they decide.
    pub quorum: usize,
    /// How long all votes on the calls of a step may take together.
    pub timeout: Duration,
}

impl ReviewSettings {
    /// Connects to the reviewers. Nothing is sent yet.
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
    /// What they mean, on a line.
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
