//! Checks the section `[review]` of the settings file: the models that review high-risk calls.

use std::{collections::HashSet, time::Duration};

use tallybook_agent::{MAX_REVIEWERS, ReviewMode};
use tallybook_conversations::models::{ModelChoice, ModelEntry, ReviewSettings};

use super::{error::ConfigError, file::SettingsFile};
use crate::config::file::ReviewSection;

/// Returns the settings of reviews; `None` if the file has no such section.
pub(crate) fn review(
    file: Option<&SettingsFile>,
    models: &[ModelEntry],
) -> Result<Option<ReviewSettings>, ConfigError> {
    let Some((file, section)) = file.and_then(|file| Some((file, file.review()?))) else { return Ok(None) };
    let names = reviewers(file, section, models)?;
    let mode = match &section.mode {
        None => ReviewMode::Advise,
        Some(word) => {
            ReviewMode::named(word.get_ref()).ok_or_else(|| file.bad(word, "mode must be advise or decide."))?
        }
    };
    let quorum = match &section.quorum {
        None => names.len() / 2 + 1,
        Some(quorum) if (1..=names.len()).contains(quorum.get_ref()) => *quorum.get_ref(),
        Some(quorum) => {
            return Err(
                file.bad(quorum, format!("quorum must be from 1 to {}, the number of reviewing models.", names.len()))
            );
        }
    };
    let most = ReviewSettings::MAX_TIMEOUT_SECS;
    let seconds = match &section.timeout_secs {
        None => ReviewSettings::DEFAULT_TIMEOUT_SECS,
        Some(seconds) if (1..=most).contains(seconds.get_ref()) => *seconds.get_ref(),
        Some(seconds) => return Err(file.bad(seconds, format!("timeout_secs must be from 1 to {most}."))),
    };
    Ok(Some(ReviewSettings { models: names, mode, quorum, timeout: Duration::from_secs(seconds) }))
}

fn reviewers(file: &SettingsFile, section: &ReviewSection, models: &[ModelEntry]) -> Result<Vec<String>, ConfigError> {
    let named = section.models.get_ref();
    if !(1..=MAX_REVIEWERS).contains(&named.len()) {
        return Err(file.bad(&section.models, format!("name 1 to {MAX_REVIEWERS} reviewing models.")));
    }
    let mut seen = HashSet::new();
    for name in named {
        let entry = file.model_named(name, models)?;
        if matches!(entry.choice, ModelChoice::Demo { .. }) {
            return Err(file.bad(name, "the demo model cannot review. Remove it."));
        }
        if !seen.insert(name.get_ref()) {
            return Err(file.bad(
                name,
                format!("{:?} is listed twice. Each model has one vote, so list it once.", name.get_ref()),
            ));
        }
    }
    Ok(named.iter().map(|name| name.get_ref().clone()).collect())
}
