//! `[plan]` as it stands in the settings file. What it means is in `plan`.

use serde::Deserialize;
use toml::Spanned;

/// The section, each value with its place in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanSection {
    pub(super) planner_model: Option<Spanned<String>>,
    pub(super) max_attempts: Option<Spanned<u32>>,
    pub(super) max_total_attempts: Option<Spanned<u32>>,
}
