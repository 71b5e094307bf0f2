//! The section `[plan]` of the settings file. `plan` interprets it.

use serde::Deserialize;
use toml::Spanned;

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanSection {
    pub(crate) planner_model: Option<Spanned<String>>,
    pub(crate) max_attempts: Option<Spanned<u32>>,
    pub(crate) max_total_attempts: Option<Spanned<u32>>,
}
