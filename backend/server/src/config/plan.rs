//! `[plan]`: how questions are answered by plans, by what `plan_section` has of it.

use toml::Spanned;

use super::{error::ConfigError, file::SettingsFile};
use crate::{conversation::PlanSettings, models::ModelEntry};

/// How often a step may be tried at most, and all steps together: each attempt is an answer's worth of model calls.
const MAX_ATTEMPTS: u32 = 10;
const MAX_TOTAL_ATTEMPTS: u32 = 50;

/// How questions are answered by plans, which one of these models makes.
pub(super) fn plan(file: Option<&SettingsFile>, models: &[ModelEntry]) -> Result<PlanSettings, ConfigError> {
    let default = PlanSettings::default();
    let Some((file, section)) = file.and_then(|file| Some((file, file.plan()?))) else { return Ok(default) };
    let within = |value: &Option<Spanned<u32>>, name, max, default| match value {
        Some(value) if !(1..=max).contains(value.get_ref()) => Err(file.bad(value, format!("{name} is 1 to {max}."))),
        value => Ok(value.as_ref().map_or(default, |value| *value.get_ref())),
    };
    let planner_model = match &section.planner_model {
        Some(name) => Some(file.model_named(name, models)?.name.clone()),
        None => None,
    };
    Ok(PlanSettings {
        planner_model,
        max_attempts: within(&section.max_attempts, "max_attempts", MAX_ATTEMPTS, default.max_attempts)?,
        max_total_attempts: within(
            &section.max_total_attempts,
            "max_total_attempts",
            MAX_TOTAL_ATTEMPTS,
            default.max_total_attempts,
        )?,
    })
}
