//! Checks the section `[plan]` of the settings file: the settings of planned answers.

use tallybook_conversations::{
    PlanSettings,
    models::{ModelChoice, ModelEntry},
};
use toml::Spanned;

use super::{error::ConfigError, file::SettingsFile};

/// Maximum attempts of a step, and of all steps together. Each attempt costs as many model calls as an answer.
const MAX_ATTEMPTS: u32 = 10;
const MAX_TOTAL_ATTEMPTS: u32 = 50;

/// Returns the settings of planned answers. The planner is one of `models`.
pub(crate) fn plan(file: Option<&SettingsFile>, models: &[ModelEntry]) -> Result<PlanSettings, ConfigError> {
    let default = PlanSettings::default();
    let Some((file, section)) = file.and_then(|file| Some((file, file.plan()?))) else { return Ok(default) };
    let within = |value: &Option<Spanned<u32>>, name, max, default| match value {
        Some(value) if !(1..=max).contains(value.get_ref()) => {
            Err(file.bad(value, format!("{name} must be from 1 to {max}.")))
        }
        value => Ok(value.as_ref().map_or(default, |value| *value.get_ref())),
    };
    let planner_model = match &section.planner_model {
        Some(name) => {
            let entry = file.model_named(name, models)?;
            if matches!(entry.choice, ModelChoice::Demo { .. }) {
                return Err(file.bad(name, "the demo model cannot plan. Choose another model."));
            }
            Some(entry.name.clone())
        }
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
