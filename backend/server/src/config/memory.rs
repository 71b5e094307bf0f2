//! `[memory]`: when conversations are summed up, by what `memory_section` has of it.

use toml::Spanned;

use super::{error::ConfigError, file::SettingsFile};
use crate::{
    conversation::MemorySettings,
    models::{ModelChoice, ModelEntry},
};

/// The longest that a conversation may be outside of its summary, in tokens: no model reads more.
const MAX_AFTER_TOKENS: usize = 10_000_000;

/// The most characters of a summary: as many as the model may write.
const MAX_CHARS: usize = 2000;

/// When conversations are summed up, by one of these models.
pub(super) fn memory(file: Option<&SettingsFile>, models: &[ModelEntry]) -> Result<MemorySettings, ConfigError> {
    let default = MemorySettings::default();
    let Some((file, section)) = file.and_then(|file| Some((file, file.memory()?))) else { return Ok(default) };
    let within = |value: &Option<Spanned<usize>>, name, max| match value {
        Some(value) if *value.get_ref() > max => Err(file.bad(value, format!("{name} is 0 to {max}."))),
        value => Ok(value.as_ref().map(|value| *value.get_ref())),
    };
    let summary_model = match &section.summary_model {
        Some(name) => Some(summary_model(file, name, models)?),
        None => None,
    };
    Ok(MemorySettings {
        summary_model,
        after_tokens: within(&section.after_tokens, "after_tokens", MAX_AFTER_TOKENS)?,
        max_chars: within(&section.max_chars, "max_chars", MAX_CHARS)?.unwrap_or(default.max_chars),
    })
}

fn summary_model(file: &SettingsFile, name: &Spanned<String>, models: &[ModelEntry]) -> Result<String, ConfigError> {
    let entry = file.model_named(name, models)?;
    if matches!(entry.choice, ModelChoice::Demo { .. }) {
        return Err(file.bad(name, "the demo model cannot sum up. Take it out."));
    }
    Ok(entry.name.clone())
}
