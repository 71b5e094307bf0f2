//! HTTP handlers for `/admin/groups`: the groups of users, and for each group a form with its members and its grants.
//! `i18n` has the text.

mod i18n;

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Form, FormConfig, Path},
};
use askama::Template;
use serde::{Deserialize, Serialize};
use tallybook_accounts::{GroupId, Permission};
use tallybook_protocol::{Group, GroupOrigin, NewGroup, UpdateGroup};
use tallybook_runtime_settings::{RuntimeSettings, SettingsError};

use super::{
    super::{body, caller::Admin, error::ApiError, query::Query, state::State},
    form_values::{FormQuery, FormValues, VersionForm, merge_rows},
    i18n::Messages,
    layout::{Frame, answer, redirect, refusal, status_of},
    refusals::Refusal,
};

/// URL of the list.
const URL: &str = "/admin/groups";

/// Maximum size of the form of a group, in bytes. It has the members twice: 10,000 with long names.
const MAX_FORM_BYTES: usize = 4 * 1024 * 1024;

/// Rights that can be granted.
const RIGHTS: [Permission; 3] = [Permission::MakeKeys, Permission::Share, Permission::Upload];

/// A group to create.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct CreateForm {
    name: String,
    #[serde(default)]
    origin: GroupOrigin,
}

#[derive(Template)]
#[template(path = "tool_history/groups.html")]
struct GroupsPage {
    frame: Frame,
    groups: Vec<ShownGroup>,
    has_accounts: bool,
    problem: Option<Refusal>,
    /// Entered values of a new group.
    new: CreateForm,
}

impl CreateForm {
    fn is_from_provider(&self) -> bool {
        self.origin == GroupOrigin::Oidc
    }
}

/// A group in the list.
struct ShownGroup {
    id: i64,
    name: String,
    is_from_provider: bool,
    members: String,
    grants: String,
}

#[derive(Template)]
#[template(path = "tool_history/group.html")]
struct GroupPage {
    frame: Frame,
    id: i64,
    /// The stored name.
    title: String,
    /// The name in the field.
    name: String,
    version: i64,
    /// The values that the form shows, as JSON, so that only edits are added to the changes of another admin.
    shown: String,
    is_from_provider: bool,
    members: String,
    sections: Vec<Section>,
    problem: Option<Refusal>,
    is_saved: bool,
}

/// The permissions of one kind.
struct Section {
    title: &'static str,
    choices: Vec<Choice>,
}

/// A permission, and whether it is granted.
struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

/// The values of the form of a group.
#[derive(Clone, Serialize, Deserialize)]
struct Values {
    name: String,
    /// Names of the members.
    members: Vec<String>,
    grants: Vec<String>,
}

/// The form of a group, as it was sent.
struct Entered {
    version: i64,
    /// The values that the form showed.
    shown: Option<Values>,
    values: Values,
}

impl Entered {
    fn read(form: &FormValues) -> Self {
        let members = form.first("members").unwrap_or_default().lines().map(str::trim);
        let values = Values {
            name: form.first("name").unwrap_or_default().to_owned(),
            members: members.filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect(),
            grants: form.all("grant").map(ToOwned::to_owned).collect(),
        };
        Self { version: form.version(), shown: form.shown(), values }
    }

    /// Adds the edits to values that another admin has changed.
    fn merge(self, current: &Values) -> Values {
        let shown = self.shown.as_ref().unwrap_or(current);
        let Values { name, members, grants } = self.values;
        Values {
            name: if name == shown.name { current.name.clone() } else { name },
            members: merge_rows(members, &shown.members, &current.members, Clone::clone),
            grants: merge_rows(grants, &shown.grants, &current.grants, Clone::clone),
        }
    }
}

/// Returns the settings for the form of a group.
pub(crate) fn forms() -> FormConfig {
    body::forms(MAX_FORM_BYTES)
}

/// Lists the groups.
pub(crate) async fn list(state: State, request: HttpRequest, _admin: Admin) -> HttpResponse {
    render_list(&state, &request, CreateForm::default(), None).await
}

/// Creates a group without members, and shows it.
pub(crate) async fn create(
    state: State,
    request: HttpRequest,
    Admin(caller): Admin,
    form: Form<CreateForm>,
) -> HttpResponse {
    let form = form.into_inner();
    let new = NewGroup { name: form.name.clone(), origin: form.origin, grants: Vec::new() };
    let work = move |settings: RuntimeSettings| async move { settings.create_group(caller.user, new).await };
    match state.run_settings(work).await {
        Ok(group) => redirect(format!("{URL}/{}", group.id)),
        Err(error) => render_list(&state, &request, form, Some(error)).await,
    }
}

/// Shows a group.
pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    _admin: Admin,
    id: Path<i64>,
    Query(query): Query<FormQuery>,
) -> HttpResponse {
    render_group(&state, &request, GroupId(*id), None, None, query.is_saved()).await
}

/// Changes a group. If the change is refused, the form keeps what was entered.
pub(crate) async fn change(
    state: State,
    request: HttpRequest,
    Admin(caller): Admin,
    id: Path<i64>,
    form: Form<Vec<(String, String)>>,
) -> HttpResponse {
    let (id, entered) = (GroupId(*id), Entered::read(&FormValues::new(form.into_inner())));
    let Values { name, members, grants } = &entered.values;
    let names: BTreeSet<String> = members.iter().cloned().collect();
    let update = UpdateGroup { name: Some(name.clone()).filter(|name| !name.is_empty()), grants: Some(grants.clone()) };
    let version = entered.version;
    let work = move |settings: RuntimeSettings| async move {
        let members = settings.find_users_named(&names).await?.into_iter().map(|user| user.0).collect();
        settings.update_group(caller.user, id, update, Some(members), Some(version)).await
    };
    match state.run_settings(work).await {
        Ok(_) => redirect(format!("{URL}/{}?state=saved", id.0)),
        Err(error) => render_group(&state, &request, id, Some(entered), Some(error), false).await,
    }
}

/// Deletes a group.
pub(crate) async fn delete(
    state: State,
    request: HttpRequest,
    Admin(caller): Admin,
    id: Path<i64>,
    form: Form<VersionForm>,
) -> HttpResponse {
    let (id, version) = (GroupId(*id), Some(form.version));
    let work = move |settings: RuntimeSettings| async move { settings.delete_group(caller.user, id, version).await };
    match state.run_settings(work).await {
        Ok(()) => redirect(URL.to_owned()),
        Err(error) => render_group(&state, &request, id, None, Some(error), false).await,
    }
}

async fn render_list(state: &State, request: &HttpRequest, new: CreateForm, error: Option<ApiError>) -> HttpResponse {
    let frame = Frame::of(state, request);
    let groups = match state.settings.list_groups().await {
        Ok(groups) => groups.items,
        Err(error) => return refusal(frame, request, &error.into()),
    };
    let texts = frame.texts;
    let shown = |group: Group| ShownGroup {
        id: group.id,
        name: group.name,
        is_from_provider: group.origin == GroupOrigin::Oidc,
        members: texts.member_count(group.members),
        grants: group.grants.iter().map(|grant| texts.grant_named(grant)).collect::<Vec<_>>().join(" · "),
    };
    let status = status_of(error.as_ref());
    let page = GroupsPage {
        groups: groups.into_iter().map(shown).collect(),
        has_accounts: state.accounts.settings().required,
        problem: error.map(|error| texts.form_problem(&error, false)),
        new,
        frame,
    };
    answer(status, &page)
}

async fn render_group(
    state: &State,
    request: &HttpRequest,
    id: GroupId,
    entered: Option<Entered>,
    error: Option<ApiError>,
    is_saved: bool,
) -> HttpResponse {
    let frame = Frame::of(state, request);
    let settings = &state.settings;
    let read =
        async { Ok::<_, SettingsError>((settings.find_group(id).await?, settings.list_group_members(id).await?)) };
    let (group, members) = match read.await {
        Ok(read) => read,
        Err(error) => return refusal(frame, request, &error.into()),
    };
    let current = Values {
        name: group.name,
        members: members.items.into_iter().map(|member| member.name).collect(),
        grants: group.grants,
    };
    let is_from_provider = group.origin == GroupOrigin::Oidc;
    let texts = frame.texts;
    let (status, is_kept) = (status_of(error.as_ref()), entered.is_some());
    let title = current.name.clone();
    let (version, shown, values) = match entered {
        Some(Entered { version, shown, values }) if !error.as_ref().is_some_and(ApiError::is_outdated) => {
            (version, shown, values)
        }
        entered => {
            let values = entered.map_or_else(|| current.clone(), |entered| entered.merge(&current));
            (group.version, Some(current), values)
        }
    };
    let Values { name, members, grants } = values;
    let models = state.service.models().list().items.into_iter().map(|model| Permission::Model(model.name).to_string());
    let servers = settings.tool_server_names().await.into_iter().map(|name| Permission::ToolServer(name).to_string());
    let sections = [
        section(texts.granted_models(), "model:", models.collect(), &grants, texts),
        section(texts.granted_tool_servers(), "tool_server:", servers.collect(), &grants, texts),
        section(texts.granted_rights(), "", RIGHTS.map(|right| right.to_string()).into(), &grants, texts),
    ];
    let page = GroupPage {
        id: group.id,
        // The provider's name is in a field that cannot be edited, so it is not sent.
        name: if is_from_provider { title.clone() } else { name },
        title,
        version,
        shown: serde_json::to_string(&shown).unwrap_or_default(),
        is_from_provider,
        members: members.join("\n"),
        sections: sections.into_iter().filter(|section| !section.choices.is_empty()).collect(),
        problem: error.map(|error| texts.form_problem(&error, is_kept)),
        is_saved,
        frame,
    };
    answer(status, &page)
}

/// Returns the permissions of one kind: those that exist, and those that are granted although the model or tool server
/// was removed.
fn section(title: &'static str, prefix: &str, mut all: Vec<String>, granted: &[String], texts: Messages) -> Section {
    let removed =
        granted.iter().filter(|grant| !prefix.is_empty() && grant.starts_with(prefix) && !all.contains(grant));
    all.extend(removed.cloned().collect::<Vec<_>>());
    let choice = |value: String| Choice { label: label(&value, texts), is_chosen: granted.contains(&value), value };
    Section { title, choices: all.into_iter().map(choice).collect() }
}

/// Returns the name of a permission in the page.
fn label(grant: &str, texts: Messages) -> String {
    match grant.split_once(':') {
        Some((_, name)) => name.to_owned(),
        None => texts.right_named(grant).to_owned(),
    }
}
