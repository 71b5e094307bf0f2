//! Checks the section `[plan]` of the settings file: the settings of planned answers.

use tallybook_conversations::{
    PlanSettings,
    models::{ModelChoice, ModelEntry},
};
use toml::Spanned;

use super::{error::ConfigError, file::SettingsFile};

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
        max_attempts: within(&section.max_attempts, "max_attempts", PlanSettings::MAX_ATTEMPTS, default.max_attempts)?,
        max_total_attempts: within(
            &section.max_total_attempts,
            "max_total_attempts",
            PlanSettings::MAX_TOTAL_ATTEMPTS,
            default.max_total_attempts,
        )?,
    })
}
