//! The settings of the page, and of the account if the server has accounts. Each section has a file of its own, and
//! loads its data when it is shown.

mod access_log;
mod appearance;
mod approvals;
mod browser_name;
mod data;
mod entries;
mod identities;
mod instructions;
mod keys;
mod list;
mod models;
mod mutation;
mod notice;
mod password;
mod people;
mod section;
mod sessions;
mod shares;
mod usage;

use leptos::prelude::*;
use tallybook_protocol::{Me, UserRole};

pub(crate) use self::notice::AccountNotice;
use self::section::section;
use crate::{
    api::account,
    components::{dialogs::help::HelpSheet, parts::load_button::LoadButton},
    conversation_list::ConversationList,
    language::{Language, use_language},
    reactive::{effect, memo},
    session::Loading,
    setup::EntryKind,
};

/// The settings, section by section.
#[component]
pub(crate) fn SettingsPage(sheet: HelpSheet, list: ConversationList) -> impl IntoView {
    let text = use_language();
    let me = RwSignal::new(None::<Me>);
    let loading = RwSignal::new(Loading::Running);
    let load = move || {
        loading.set(Loading::Running);
        leptos::task::spawn_local(async move {
            loading.try_set(match account::find_me().await {
                Ok(found) => {
                    me.try_set(Some(found));
                    Loading::Idle
                }
                Err(error) => Loading::Failed(error.message(text)),
            });
        });
    };
    effect(load);
    // The sections depend on the user, and not on the chosen settings.
    let who = memo(move |_| me.with(|me| me.as_ref().map(|me| (me.name.clone(), me.role))));
    let account = move || match who.get() {
        Some((name, role)) => sections_of(me, name, role, list, text),
        None => view! {
            <div class="setting">
                <LoadButton
                    name="load-settings"
                    loading=loading.into()
                    label=text.try_again().to_owned()
                    loading_label=text.settings_loading()
                    load
                />
            </div>
        }
        .into_any(),
    };
    view! {
        <div class="thread setting-scroll" data-testid="settings">
            <div class="setting-page">
                <h1 class="visually-hidden">{text.settings()}</h1>
                {appearance::section_view(sheet, text)}
                {move || models::section_view(text)}
                {account}
            </div>
        </div>
    }
    .into_any()
}

/// The sections of the account, if there is one.
fn sections_of(
    me: RwSignal<Option<Me>>,
    name: Option<String>,
    role: UserRole,
    list: ConversationList,
    text: Language,
) -> AnyView {
    let has_account = name.is_some();
    let usage = |me: &Me| (me.limits, me.budgets.clone(), me.this_month.clone());
    let (limits, budgets, this_month) = me.with_untracked(|me| me.as_ref().map(usage)).unwrap_or_default();
    let has_password = me.with_untracked(|me| me.as_ref().is_some_and(|me| me.has_password));
    let may_make_keys = me.with_untracked(|me| me.as_ref().is_some_and(|me| me.rights.make_keys));
    let provider = me.with_untracked(|me| me.as_ref().and_then(|me| me.issuer.clone()));
    view! {
        {name.map(|name| profile(name, role, has_password, text))}
        {(role == UserRole::Admin).then(|| entries::section_view(EntryKind::Model, text))}
        {(role == UserRole::Admin).then(|| entries::section_view(EntryKind::ToolServer, text))}
        {(role == UserRole::Admin).then(|| access_log::server_section(text))}
        {instructions::section_view(me, text)}
        {usage::limits_section(limits, &budgets, text)}
        {usage::month_section(this_month, text)}
        {approvals::section_view(text)}
        {shares::section_view(text)}
        {has_account.then(|| sessions::section_view(text))}
        {provider.filter(|_| has_account).map(|provider| identities::section_view(&provider, has_password, text))}
        {has_account.then(|| keys::section_view(has_password, may_make_keys, text))}
        {(has_account && role == UserRole::Admin).then(|| people::section_view(text))}
        {access_log::tool_history_section(role, text)}
        {has_account.then(|| access_log::section_view(text))}
        {data::export_section(text)}
        {data::delete_conversations_section(list, text)}
        {has_account.then(|| data::delete_section(has_password, text))}
    }
    .into_any()
}

fn profile(name: String, role: UserRole, has_password: bool, text: Language) -> AnyView {
    let password = if has_password {
        password::form(name.clone(), text)
    } else {
        view! { <p class="setting-note" data-testid="no-password">{text.no_password()}</p> }.into_any()
    };
    let content = view! {
        <dl class="setting-facts">
            <div><dt>{text.account_name()}</dt><dd data-testid="me-name">{name}</dd></div>
            <div><dt>{text.role_label()}</dt><dd>{text.role(role)}</dd></div>
        </dl>
        {password}
    };
    section("profile", text.profile(), text.profile_about(), content.into_any())
}
