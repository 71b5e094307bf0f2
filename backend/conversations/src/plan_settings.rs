//! Settings of plan mode (`[plan]`). The agent executes the plans.

use std::{fmt, sync::Arc};

use tallybook_agent::Planning;

use crate::models::{Catalog, Model};

/// Settings of plan mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    /// Catalog name of the model that makes plans; `None` means the model that answers.
    pub planner_model: Option<String>,
    /// Maximum number of attempts at one step.
    pub max_attempts: u32,
    /// Maximum number of attempts at all steps of a plan together.
    pub max_total_attempts: u32,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { planner_model: None, max_attempts: 2, max_total_attempts: 10 }
    }
}

impl PlanSettings {
    /// Returns the settings for a turn that `model` answers, or `None` if the planner cannot make plans.
    pub(crate) fn planning(&self, models: &Catalog, model: &Arc<Model>) -> Option<Planning> {
        let planner = self.planner_model.as_deref().and_then(|name| models.find(name)).unwrap_or(model);
        let Self { max_attempts, max_total_attempts, .. } = *self;
        let planning = || Planning { planner: planner.shared_client(), max_attempts, max_total_attempts };
        planner.can_sum_up().then(planning)
    }
}

impl fmt::Display for PlanSettings {
    /// Writes what the settings mean, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner_model, max_attempts, max_total_attempts } = self;
        let planner = planner_model.as_deref().unwrap_or("the model that answers");
        write!(
            f,
            "{planner} makes plans, a step of which is tried {max_attempts} times, all of them {max_total_attempts} times"
        )
    }
}
