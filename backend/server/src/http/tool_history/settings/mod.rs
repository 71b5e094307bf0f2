//! HTTP handlers for `/admin/settings`: the settings of the server as a form, and the history of their changes. `form`
//! converts between the settings and the fields of the form, and `i18n` has the text.

mod form;
mod i18n;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Form, FormConfig, Path},
};
use askama::Template;
use serde_json::Value;
use tallybook_conversations::models::Model;
use tallybook_protocol::{CurrentServerSettings, SettingsChange};
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};

use self::form::{Control, Group, ModelNames, Values, groups};
use super::{
    super::{body, caller::Admin, error::ApiError, query::Query, state::State},
    form_values::{FormQuery, VersionForm},
    format,
    i18n::Messages,
    layout::{Frame, answer, redirect, refusal, status_of},
    refusals::Refusal,
};

/// URL of the page.
const URL: &str = "/admin/settings";

/// Maximum size of the form, in bytes. It has the instructions twice, each character in up to 12 bytes.
const MAX_FORM_BYTES: usize = 128 * 1024;

/// Maximum number of changes that the page shows.
const MAX_CHANGES: usize = 20;

#[derive(Template)]
#[template(path = "tool_history/settings.html")]
struct SettingsPage {
    frame: Frame,
    groups: Vec<Group>,
    version: i64,
    /// The settings as JSON, so that only edited fields are changed.
    shown: String,
    /// The reason why a change was refused.
    problem: Option<Refusal>,
    /// Sentences about settings that have no effect.
    problems: Vec<Refusal>,
    is_saved: bool,
    changes: Vec<Entry>,
}

/// A change in the history.
struct Entry {
    id: i64,
    time: String,
    datetime: String,
    changed_by: String,
    changes: Vec<String>,
    /// `true` if these settings apply now, so that there is nothing to restore.
    is_latest: bool,
}

/// Returns the settings for the form of this page.
pub(crate) fn forms() -> FormConfig {
    body::forms(MAX_FORM_BYTES)
}

/// Shows the settings.
pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    _admin: Admin,
    Query(query): Query<FormQuery>,
) -> HttpResponse {
    render(&state, &request, None, None, query.is_saved()).await
}

/// Changes the settings whose fields were edited. If the change is refused, the form keeps what was entered.
pub(crate) async fn change(
    state: State,
    request: HttpRequest,
    admin: Admin,
    form: Form<Vec<(String, String)>>,
) -> HttpResponse {
    let values = Values::new(form.into_inner());
    let current = match state.settings.find_settings().await {
        Ok(current) => current,
        Err(error) => return refusal(Frame::of(&state, &request), &request, &error.into()),
    };
    let (patch, version) = (values.patch(&current, has_accounts(&state)), Some(values.version()));
    let actor = admin.0.user;
    let work = move |settings: RuntimeSettings| async move {
        settings.update_settings(actor, patch, version).await.map(|_| ())
    };
    match state.run_settings(work).await {
        Ok(()) => saved(),
        Err(error) => render(&state, &request, Some(values), Some(error), false).await,
    }
}

/// Restores the settings as they were after a change.
pub(crate) async fn restore(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: Path<i64>,
    form: Form<VersionForm>,
) -> HttpResponse {
    let (actor, version) = (admin.0.user, Some(form.version));
    let work = move |settings: RuntimeSettings| async move {
        settings.restore_settings(actor, id.into_inner(), version).await.map(|_| ())
    };
    match state.run_settings(work).await {
        Ok(()) => saved(),
        Err(error) => render(&state, &request, None, Some(error), false).await,
    }
}

fn saved() -> HttpResponse {
    redirect(format!("{URL}?state=saved"))
}

fn has_accounts(state: &State) -> bool {
    state.accounts.settings().required
}

/// Renders the page, with the entered values if a change was refused.
async fn render(
    state: &State,
    request: &HttpRequest,
    entered: Option<Values>,
    error: Option<ApiError>,
    is_saved: bool,
) -> HttpResponse {
    let frame = Frame::of(state, request);
    let read = async {
        let settings = &state.settings;
        Ok::<_, SettingsError>((settings.find_settings_with_problems().await?, settings.list_settings_changes().await?))
    };
    let ((current, problems), history) = match read.await {
        Ok(read) => read,
        Err(error) => return refusal(frame, request, &error.into()),
    };
    let catalog = state.service.models();
    let all: Vec<String> = catalog.list().items.into_iter().map(|model| model.name).collect();
    let only = |is_wanted: fn(&Model) -> bool| {
        let is_wanted = |name: &&String| catalog.find(name).is_some_and(|model| is_wanted(&model));
        all.iter().filter(is_wanted).cloned().collect()
    };
    let (writers, reviewers) = (only(Model::can_summarize), only(Model::can_review));
    let models = ModelNames { all, writers, reviewers };
    let texts = frame.texts;
    let changes = history.items.iter().take(MAX_CHANGES).map(|change| entry(change, &current, texts)).collect();
    let problems = problems.iter().map(|problem| texts.setting_problem(problem)).collect();
    let status = status_of(error.as_ref());
    let is_kept = entered.is_some();
    let page = SettingsPage {
        groups: groups(&current, entered.as_ref(), &models, has_accounts(state), texts),
        version: current.version,
        shown: serde_json::to_string(&current.settings).unwrap_or_default(),
        problem: error.map(|error| texts.form_problem(&error, is_kept)),
        problems,
        is_saved,
        changes,
        frame,
    };
    answer(status, &page)
}

fn entry(change: &SettingsChange, current: &CurrentServerSettings, texts: Messages) -> Entry {
    let describe = |(name, after): (&String, &Value)| {
        let before = change.before.get(name).unwrap_or(&Value::Null);
        texts.setting_change(name, &texts.setting_value(before), &texts.setting_value(after))
    };
    Entry {
        id: change.id,
        time: format::time(&change.created_at),
        datetime: format::datetime(&change.created_at),
        changed_by: change.changed_by.clone(),
        changes: change.after.iter().map(describe).collect(),
        is_latest: change.id == current.version,
    }
}
