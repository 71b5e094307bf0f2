//! The keys by which programs ask in one's name. A key is shown once, when it is made.

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};
use tallybook_protocol::{KeyInfo, MadeKey};

use super::{deed::Deed, list::List, section::section};
use crate::{
    api::account,
    components::{copy::CopyButton, times::when},
    language::Language,
    reactive::memo,
    session::Loading,
};

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, account::list_keys);
    let made = RwSignal::new(None::<MadeKey>);
    let name = RwSignal::new(String::new());
    let (making, revoking) = (Deed::new(), Deed::new());
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let wanted = name.get_untracked();
        making.run(text, async move { account::create_key(&wanted).await }, move |key| {
            name.set(String::new());
            made.set(Some(key));
            list.reload();
            None
        });
    };
    let revoke = Callback::new(move |id: i64| {
        revoking.run(text, account::revoke_key(id), move |()| {
            list.take_out(move |key: &KeyInfo| key.id == id);
            made.update(|made| {
                made.take_if(|made| made.id == id);
            });
            None
        });
    });
    let content = view! {
        <form class="setting-form" on:submit=submit>
            <label for="key-name">{text.key_name()}</label>
            <div class="setting-line">
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
                <button type="submit" class="button" data-testid="make-key" aria-disabled=move || making.busy()>
                    {text.key_make()}
                </button>
            </div>
            {making.told()}
        </form>
        // There from the beginning, so that what it says is heard.
        <div role="status">{move || made.get().map(|key| shown_once(key.key, made, text))}</div>
        {list.view("keys", text, Some(text.keys_none()), move |key| row(key, revoke, text))}
        {revoking.told()}
    };
    section("keys", text.keys(), text.keys_about(), content.into_any())
}

/// The key, until the reader has it.
fn shown_once(key: String, made: RwSignal<Option<MadeKey>>, text: Language) -> AnyView {
    let content: StoredValue<Arc<str>> = StoredValue::new(Arc::from(key.as_str()));
    let loading = memo(|_| Loading::Idle);
    view! {
        <div class="setting-secret" data-testid="new-key">
            <p>{text.key_once()}</p>
            <code>{key}</code>
            <div class="setting-buttons">
                <CopyButton content=move || Some(content.get_value()) load=|| () loading />
                <button type="button" class="button small" data-testid="key-kept" on:click=move |_| made.set(None)>
                    {text.key_kept()}
                </button>
            </div>
        </div>
    }
    .into_any()
}

fn row(key: KeyInfo, revoke: Callback<i64>, text: Language) -> AnyView {
    let KeyInfo { id, name, prefix, created_at, last_used_at } = key;
    let used = match last_used_at {
        Some(at) => view! { {text.last_used()}" "{when(at.timestamp_millis(), text)} }.into_any(),
        None => text.never_used().into_any(),
    };
    let label = format!("{}: {name}", text.revoke());
    view! {
        <li data-testid="key">
            <span class="setting-item">
                <b dir="auto">{name}</b>
                <span class="setting-note">
                    <code>{prefix}"…"</code>" · "{text.made_at()}" "{when(created_at.timestamp_millis(), text)}" · "{used}
                </span>
            </span>
            <button
                type="button"
                class="button small"
                data-testid="revoke-key"
                aria-label=label
                on:click=move |_| revoke.run(id)
            >
                {text.revoke()}
            </button>
        </li>
    }
    .into_any()
}
