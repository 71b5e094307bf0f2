//! The section with the user's API keys. A key is shown once, when it is created.

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};
use tallybook_protocol::{CreatedKey, KeyInfo};

use super::{
    list::{List, row_button},
    mutation::Mutation,
    password,
    section::section,
};
use crate::{
    api::account,
    browser,
    components::{
        message::copy::CopyButton,
        parts::{
            listbox::{Choice, Listbox},
            times::when,
        },
    },
    language::Language,
    reactive::memo,
    session::Loading,
};

/// Lifetimes that are offered for a key, in days.
const LIFETIMES: [u32; 3] = [30, 90, 365];

/// Renders the section. A user without the right to create keys can only revoke those that exist.
pub(super) fn section_view(has_password: bool, may_make: bool, text: Language) -> AnyView {
    let list = List::new(text, account::list_keys);
    let created = RwSignal::new(None::<CreatedKey>);
    let (name, given) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    // In days; `None` for a key that does not expire.
    let lifetime = RwSignal::new(None::<u32>);
    let (creating, revoking) = (Mutation::new(), Mutation::new());
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let wanted = name.get_untracked();
        let password = Some(given.get_untracked()).filter(|password| !password.is_empty());
        let expires_at = lifetime.get_untracked().and_then(browser::in_days);
        let request = async move { account::create_key(&wanted, password.as_deref(), expires_at.as_deref()).await };
        creating.run(text, request, move |key| {
            name.set(String::new());
            given.set(String::new());
            created.set(Some(key));
            list.reload();
            None
        });
    };
    let revoke = Callback::new(move |id: i64| {
        revoking.run(text, account::revoke_key(id), move |()| {
            list.take_out(move |key: &KeyInfo| key.id == id);
            created.update(|made| {
                made.take_if(|made| made.id == id);
            });
            None
        });
    });
    let chosen = RwSignal::new(String::new());
    let forever = Choice::new("", text.key_forever());
    let days = LIFETIMES.map(|days| Choice::new(days.to_string(), text.days(days)));
    let choose = Callback::new(move |days: String| {
        lifetime.set(days.parse().ok());
        chosen.set(days);
    });
    let choices = std::iter::once(forever).chain(days).collect();
    let lifetimes = Listbox::of("key-lifetime", "key-lifetime", text.key_lifetime(), choices, chosen.into(), choose);
    let form = if may_make {
        view! {
            <form class="setting-form" on:submit=submit>
                <label for="key-name">{text.key_name()}</label>
                <input
                    type="text"
                    class="field"
                    id="key-name"
                    data-testid="key-name"
                    required
                    maxlength="64"
                    autocomplete="off"
                    prop:value=move || name.get()
                    on:input:target=move |event| name.set(event.target().value())
                />
                <label for="key-lifetime">{text.key_lifetime()}</label>
                {lifetimes.view()}
                {password::proof("key-password", has_password, text.key_password(), given, text)}
                <div class="setting-buttons">
                    <button type="submit" class="button" data-testid="make-key" aria-disabled=move || creating.busy()>
                        {text.key_create()}
                    </button>
                </div>
                {creating.outcome()}
            </form>
        }
        .into_any()
    } else {
        view! { <p class="setting-note" data-testid="may-not-make-keys">{text.may_not_make_keys()}</p> }.into_any()
    };
    let content = view! {
        {form}
        // The element exists from the start, so that a screen reader announces its changes.
        <div role="status">{move || created.get().map(|key| shown_once(key.key, created, text))}</div>
        {list.view("keys", text, Some(text.keys_none()), move |key| row(key, None, revoke, text))}
        {revoking.outcome()}
    };
    section("keys", text.keys(), text.keys_about(), content.into_any())
}

/// A new key, until the user dismisses it.
fn shown_once(key: String, made: RwSignal<Option<CreatedKey>>, text: Language) -> AnyView {
    let content: StoredValue<Arc<str>> = StoredValue::new(Arc::from(key.as_str()));
    let loading = memo(|_| Loading::Idle);
    view! {
        <div class="setting-secret" data-testid="new-key">
            <p>{text.key_once()}</p>
            <code>{key}</code>
            <div class="setting-buttons">
                <CopyButton content=move || Some(content.get_value()) load=|| () loading />
                <button type="button" class="button small" data-testid="key-kept" on:click=move |_| made.set(None)>
                    {text.key_copied()}
                </button>
            </div>
        </div>
    }
    .into_any()
}

/// A key in a list; for admins with the name of its user.
pub(super) fn row(key: KeyInfo, user: Option<String>, revoke: Callback<i64>, text: Language) -> AnyView {
    let KeyInfo { id, name, prefix, created_at, last_used_at, expires_at } = key;
    let last_use = match last_used_at {
        Some(at) => view! { {text.last_used()}" "{when(at.timestamp_millis())} }.into_any(),
        None => text.never_used().into_any(),
    };
    let expires = expires_at.map(|at| view! { " · "{text.valid_until()}" "{when(at.timestamp_millis())} });
    let of_user = user.map(|user| format!(", {user}")).unwrap_or_default();
    let label = format!("{}: {name}{of_user}", text.revoke());
    view! {
        <li data-testid="key">
            <span class="setting-item">
                <b dir="auto">{name}</b>
                <span class="setting-note">
                    <code>{prefix}"…"</code>" · "{text.created_at()}" "{when(created_at.timestamp_millis())}" · "{last_use}
                    {expires}
                </span>
            </span>
            {row_button(text.revoke(), "revoke-key", label, move || revoke.run(id))}
        </li>
    }
    .into_any()
}
