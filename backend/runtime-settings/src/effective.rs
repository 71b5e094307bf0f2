//! Merges the settings of the server: those of the settings file and the environment, then the defaults that admins
//! have changed. Checks changes, and converts the result for the services.

use std::{fmt::Display, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tallybook_accounts::{AccountRules, SignUp};
use tallybook_agent::{MAX_REVIEWERS, ReviewMode};
use tallybook_conversations::{
    Budget, BudgetOwner, ChangeableSettings, MemorySettings, PlanSettings, UserLimits,
    models::{Catalog, Model, ReviewSettings},
};
use tallybook_protocol::{MAX_INSTRUCTIONS_CHARS, MemoryFields, PlanFields, ReviewFields, ServerSettings};

use crate::{
    configured::Configured,
    error::{SettingsError, shown},
    problems::{SettingProblem, ValueProblem},
};

const SECS_PER_HOUR: f64 = 60.0 * 60.0;
const SECS_PER_DAY: f64 = 24.0 * SECS_PER_HOUR;

/// Maximum of `consent_wait_hours`: ten years.
pub const MAX_WAIT_HOURS: f64 = 87_600.0;

/// Maximum of `retention_days`: a hundred years.
const MAX_RETENTION_DAYS: f64 = 36_500.0;

/// The settings that apply.
pub(crate) struct Effective {
    pub(crate) settings: ServerSettings,
    /// Settings that have no effect, with the reasons.
    pub(crate) problems: Vec<SettingProblem>,
}

/// Merges the changed settings into the configured ones. A setting that the file or the environment sets stays as it is
/// there, and so does one that cannot be read.
pub(crate) fn merge(configured: &Configured, changed: &Map<String, Value>, models: &Catalog) -> Effective {
    let mut effective = Effective { settings: configured.settings.clone(), problems: Vec::new() };
    for (name, value) in changed {
        if configured.set_in_file.contains(&name.as_str()) {
            effective.problems.push(about(name, ValueProblem::SetInFile));
            continue;
        }
        match with(&effective.settings, name, value.clone()) {
            Ok(settings) => effective.settings = settings,
            Err(problem) => effective.problems.push(about(name, problem)),
        }
    }
    effective.problems.extend(missing_models(&effective.settings, models));
    effective
}

/// Checks the new value of a setting, and returns it as it is stored.
pub(crate) fn check(
    configured: &Configured,
    models: &Catalog,
    name: &str,
    value: Value,
) -> Result<Value, SettingsError> {
    let invalid = |problem| SettingsError::InvalidSetting(about(shown(name), problem));
    if value.is_null() {
        return known(name, &configured.settings.to_map()).map(|()| value).map_err(invalid);
    }
    let settings = with(&configured.settings, name, value).map_err(invalid)?;
    check_value(&settings, name, models).map_err(invalid)?;
    // 1 and 1.0 are equal, so replacing one with the other is not a change.
    Ok(settings.to_map().remove(name).unwrap_or_default())
}

fn about(setting: &str, problem: ValueProblem) -> SettingProblem {
    SettingProblem { setting: setting.to_owned(), problem }
}

fn known(name: &str, members: &Map<String, Value>) -> Result<(), ValueProblem> {
    if members.contains_key(name) {
        return Ok(());
    }
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    Err(ValueProblem::Unknown(names.join(", ")))
}

/// Returns the settings with one of them replaced.
fn with(settings: &ServerSettings, name: &str, mut value: Value) -> Result<ServerSettings, ValueProblem> {
    let mut members = settings.to_map();
    known(name, &members)?;
    if let Value::String(text) = &mut value {
        *text = text.trim().to_owned();
    }
    members.insert(name.to_owned(), value);
    serde_json::from_value(Value::Object(members)).map_err(|error| ValueProblem::Unreadable(error.to_string()))
}

fn check_value(settings: &ServerSettings, name: &str, models: &Catalog) -> Result<(), ValueProblem> {
    match name {
        "default_model" => settings.default_model.as_deref().map_or(Ok(()), |name| find(models, name).map(|_| ())),
        "review" => settings.review.as_ref().map_or(Ok(()), |review| check_review(review, models)),
        "memory" => {
            let MemoryFields { summary_model, after_tokens, max_chars } = &settings.memory;
            check_writer(summary_model.as_deref(), models)?;
            let (most, most_chars) = (MemorySettings::MAX_AFTER_TOKENS, MemorySettings::MAX_CHARS);
            within(after_tokens.is_none_or(|tokens| tokens <= most), "after_tokens", 0, most)?;
            within(*max_chars <= most_chars, "max_chars", 0, most_chars)
        }
        "plan" => {
            let PlanFields { planner_model, max_attempts, max_total_attempts } = &settings.plan;
            check_writer(planner_model.as_deref(), models)?;
            let (most, most_total) = (PlanSettings::MAX_ATTEMPTS, PlanSettings::MAX_TOTAL_ATTEMPTS);
            within((1..=most).contains(max_attempts), "max_attempts", 1, most)?;
            within((1..=most_total).contains(max_total_attempts), "max_total_attempts", 1, most_total)
        }
        "consent_wait_hours" => {
            within((0.0..=MAX_WAIT_HOURS).contains(&settings.consent_wait_hours), "", 0, MAX_WAIT_HOURS)
        }
        "sign_up" => {
            let is_known = SignUp::named(&settings.sign_up).is_some();
            let problem = ValueProblem::Choice { part: "", values: "open, invitation or closed" };
            if is_known { Ok(()) } else { Err(problem) }
        }
        "retention_days" => {
            within((0.0..=MAX_RETENTION_DAYS).contains(&settings.retention_days), "", 0, MAX_RETENTION_DAYS)
        }
        "instructions" if settings.instructions.chars().count() > MAX_INSTRUCTIONS_CHARS => {
            Err(ValueProblem::TooLong(MAX_INSTRUCTIONS_CHARS))
        }
        "instructions" if settings.instructions.contains('\0') => Err(ValueProblem::HasNul),
        _ => Ok(()),
    }
}

fn within(is_within: bool, part: &'static str, min: u8, max: impl Display) -> Result<(), ValueProblem> {
    if is_within { Ok(()) } else { Err(ValueProblem::Range { part, min, max: max.to_string() }) }
}

fn check_review(review: &ReviewFields, models: &Catalog) -> Result<(), ValueProblem> {
    let ReviewFields { models: names, mode, quorum, timeout_secs } = review;
    if !(1..=MAX_REVIEWERS).contains(&names.len()) {
        return Err(ValueProblem::ReviewerCount(MAX_REVIEWERS));
    }
    for (index, name) in names.iter().enumerate() {
        if !find(models, name)?.can_review() {
            return Err(ValueProblem::CannotReview(name.clone()));
        }
        if names[..index].contains(name) {
            return Err(ValueProblem::ReviewsTwice(name.clone()));
        }
    }
    if ReviewMode::named(mode).is_none() {
        return Err(ValueProblem::Choice { part: "mode", values: "advise or decide" });
    }
    within(quorum.is_none_or(|quorum| (1..=names.len()).contains(&quorum)), "quorum", 1, names.len())?;
    let most = ReviewSettings::MAX_TIMEOUT_SECS;
    within(timeout_secs.is_none_or(|seconds| (1..=most).contains(&seconds)), "timeout_secs", 1, most)
}

/// Checks the model that writes summaries or plans.
fn check_writer(name: Option<&str>, models: &Catalog) -> Result<(), ValueProblem> {
    let Some(name) = name else { return Ok(()) };
    let can_write = find(models, name)?.can_summarize();
    if can_write { Ok(()) } else { Err(ValueProblem::CannotWrite(name.to_owned())) }
}

fn find(models: &Catalog, name: &str) -> Result<Arc<Model>, ValueProblem> {
    let problem = || ValueProblem::NoModel { model: shown(name).to_owned(), models: models.names() };
    models.find(name).ok_or_else(problem)
}

/// Returns a problem for each model that the settings name and that is not available, because it was removed later.
fn missing_models(settings: &ServerSettings, models: &Catalog) -> Vec<SettingProblem> {
    let ServerSettings { default_model, review, memory, plan, .. } = settings;
    let named = [
        ("default_model", default_model.as_slice()),
        ("review", review.as_ref().map(|review| review.models.as_slice()).unwrap_or_default()),
        ("memory", memory.summary_model.as_slice()),
        ("plan", plan.planner_model.as_slice()),
    ];
    let named = named.into_iter().flat_map(|(setting, names)| names.iter().map(move |name| (setting, name)));
    let missing = named.filter(|(_, name)| models.find(name).is_none());
    missing.map(|(setting, name)| about(setting, ValueProblem::ModelGone(name.clone()))).collect()
}

/// Returns the settings as accounts use them.
pub(crate) fn account_rules(settings: &ServerSettings) -> AccountRules {
    AccountRules { sign_up: SignUp::named(&settings.sign_up).unwrap_or_default(), sharing: settings.sharing }
}

fn user_limits(settings: &ServerSettings) -> UserLimits {
    UserLimits {
        turns: settings.max_turns_per_person,
        messages_per_minute: settings.max_messages_per_minute,
        tokens_per_day: settings.max_tokens_per_day,
    }
}

/// Returns the retention time of deleted data. It is at least as long as the longest window of the user limits and the
/// budgets, so that users cannot get past them by deleting data.
pub fn retention(settings: &ServerSettings, budgets: &[Budget]) -> Duration {
    let longest_period = budgets.iter().map(Budget::window).max().unwrap_or_default();
    let longest_window = user_limits(settings).longest_window().max(longest_period);
    seconds(settings.retention_days, SECS_PER_DAY).max(longest_window)
}

fn seconds(count: f64, seconds: f64) -> Duration {
    Duration::try_from_secs_f64(count * seconds).unwrap_or_default()
}

/// Returns the settings as conversations use them.
pub(crate) fn for_conversations(
    settings: ServerSettings,
    budgets: Vec<Budget>,
    models: &Catalog,
) -> ChangeableSettings {
    let (user_limits, deleted_retention) = (user_limits(&settings), retention(&settings, &budgets));
    let MemoryFields { summary_model, after_tokens, max_chars } = settings.memory;
    let PlanFields { planner_model, max_attempts, max_total_attempts } = settings.plan;
    let review = settings.review.map(|review| {
        let ReviewFields { models, mode, quorum, timeout_secs } = review;
        let quorum = quorum.unwrap_or(models.len() / 2 + 1);
        let timeout = Duration::from_secs(timeout_secs.unwrap_or(ReviewSettings::DEFAULT_TIMEOUT_SECS));
        ReviewSettings { models, mode: ReviewMode::named(&mode).unwrap_or(ReviewMode::Advise), quorum, timeout }
    });
    let wait = seconds(settings.consent_wait_hours, SECS_PER_HOUR);
    ChangeableSettings {
        user_limits,
        budgets,
        memory: MemorySettings { summary_model, after_tokens, max_chars },
        plan: PlanSettings { planner_model, max_attempts, max_total_attempts },
        titles: settings.llm_titles,
        reviewers: review.map(|review| Arc::new(review.reviewers(models))),
        instructions: settings.instructions,
        approval_timeout: Some(wait).filter(|wait| !wait.is_zero()),
        deleted_retention,
    }
}

/// Returns the budgets as conversations enforce them.
pub(crate) fn budgets_for_conversations(budgets: Vec<tallybook_protocol::Budget>) -> Vec<Budget> {
    let convert = |budget: tallybook_protocol::Budget| {
        let tallybook_protocol::Budget { principal, period, tokens, cost_nanos, warn_at } = budget;
        // A principal of a later version is ignored.
        Some(Budget { owner: BudgetOwner::parse(&principal)?, period, tokens, cost_nanos, warn_at })
    };
    budgets.into_iter().filter_map(convert).collect()
}
