//! Reads the settings of summaries: the section `[memory]` in the settings file, and the variables `SUMMARY_MODEL` and
//! `CONVERSATION_SUMMARY_ENABLED`.

use tallybook_conversations::{
    MemorySettings,
    models::{ModelChoice, ModelEntry},
};
use tallybook_llm::ModelSettings;
use toml::Spanned;

use super::{
    error::{ConfigError, bad},
    file::SettingsFile,
};
use crate::config::cli::{Options, set};

/// Returns the settings of summaries. The variables have priority over the file.
pub(crate) fn memory(
    options: &Options,
    file: Option<&SettingsFile>,
    models: &[ModelEntry],
) -> Result<MemorySettings, ConfigError> {
    let settings = of_file(file, models)?;
    if !options.conversation_summary_enabled {
        return Ok(MemorySettings::OFF);
    }
    let Some(wanted) = set(options.summary_model.clone()) else { return Ok(settings) };
    // `SUMMARY_MODEL` can be the model's name in the catalog or its name at the provider.
    let is_wanted = |entry: &&ModelEntry| {
        let is_its_own = |settings: &ModelSettings| settings.model.as_deref() == Some(&*wanted);
        entry.name == wanted || matches!(&entry.choice, ModelChoice::Provider(settings) if is_its_own(settings))
    };
    let Some(entry) = models.iter().find(is_wanted) else {
        let names: Vec<&str> = models.iter().map(|entry| entry.name.as_str()).collect();
        return Err(bad(
            "SUMMARY_MODEL",
            format!("is {wanted:?}, but no model has this name. Use one of: {}", names.join(", ")),
        ));
    };
    if matches!(entry.choice, ModelChoice::Demo { .. }) {
        return Err(bad("SUMMARY_MODEL", "names the demo model, which cannot write summaries"));
    }
    Ok(MemorySettings { summary_model: Some(entry.name.clone()), ..settings })
}

fn of_file(file: Option<&SettingsFile>, models: &[ModelEntry]) -> Result<MemorySettings, ConfigError> {
    let default = MemorySettings::default();
    let Some((file, section)) = file.and_then(|file| Some((file, file.memory()?))) else { return Ok(default) };
    let within = |value: &Option<Spanned<usize>>, name, max| match value {
        Some(value) if *value.get_ref() > max => Err(file.bad(value, format!("{name} must be from 0 to {max}."))),
        value => Ok(value.as_ref().map(|value| *value.get_ref())),
    };
    let summary_model = match &section.summary_model {
        Some(name) => Some(summary_model(file, name, models)?),
        None => None,
    };
    Ok(MemorySettings {
        summary_model,
        after_tokens: within(&section.after_tokens, "after_tokens", MemorySettings::MAX_AFTER_TOKENS)?,
        max_chars: within(&section.max_chars, "max_chars", MemorySettings::MAX_CHARS)?.unwrap_or(default.max_chars),
    })
}

fn summary_model(file: &SettingsFile, name: &Spanned<String>, models: &[ModelEntry]) -> Result<String, ConfigError> {
    let entry = file.model_named(name, models)?;
    if matches!(entry.choice, ModelChoice::Demo { .. }) {
        return Err(file.bad(name, "the demo model cannot write summaries. Choose another model."));
    }
    Ok(entry.name.clone())
}
