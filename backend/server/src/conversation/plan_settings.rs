//! `[plan]`: how questions are answered that are to be answered by a plan. How it is done is in the agent.

use std::{fmt, sync::Arc};

use tallybook_agent::Planning;

use crate::models::{Catalog, Model};

/// How questions are answered by plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    /// The catalog's name of the model that makes plans; the one that answers where none is named.
    pub planner_model: Option<String>,
    /// How often one step is tried.
    pub max_attempts: u32,
    /// How often all steps of a plan together are.
    pub max_total_attempts: u32,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { planner_model: None, max_attempts: 2, max_total_attempts: 10 }
    }
}

impl PlanSettings {
    /// The same for a turn that this model answers.
    pub(super) fn planning(&self, models: &Catalog, model: &Arc<Model>) -> Planning {
        let planner = self.planner_model.as_deref().and_then(|name| models.find(name)).unwrap_or(model);
        let Self { max_attempts, max_total_attempts, .. } = *self;
        Planning { planner: planner.shared_client(), max_attempts, max_total_attempts }
    }
}

impl fmt::Display for PlanSettings {
    /// What they mean, on a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner_model, max_attempts, max_total_attempts } = self;
        let planner = planner_model.as_deref().unwrap_or("the model that answers");
        write!(
            f,
            "{planner} makes plans, a step of which is tried {max_attempts} times, all of them {max_total_attempts} times"
        )
    }
}
