//! The section with the linked accounts at identity providers.

use leptos::{ev::SubmitEvent, prelude::*};
use tallybook_protocol::Identity;

use super::{list::List, mutation::Mutation, password, section::section};
use crate::{api::account, browser, components::parts::times::when, language::Language};

pub(super) fn section_view(provider: &str, has_password: bool, text: Language) -> AnyView {
    let list = List::new(text, account::list_identities);
    let (linking, unlinking) = (Mutation::new(), Mutation::new());
    let unlink = Callback::new(move |id: i64| {
        unlinking.run(text, account::unlink_identity(id), move |()| {
            list.take_out(move |identity: &Identity| identity.id == id);
            None
        });
    });
    let given = RwSignal::new(String::new());
    let link = move |event: SubmitEvent| {
        event.prevent_default();
        let said = given.get_untracked();
        linking.run(text, async move { account::begin_linking(&said).await }, |linking| {
            // The identity provider redirects the browser to the settings.
            browser::leave_for(&linking.url);
            None
        });
    };
    let content = view! {
        {list.view("identities", text, Some(text.linked_accounts_none()), move |identity| row(identity, unlink, text))}
        {unlinking.outcome()}
        <form class="setting-form" on:submit=link>
            {password::proof("link-password", has_password, text.link_password(), given, text)}
            <div class="setting-buttons">
                <button
                    type="submit"
                    class="button"
                    data-testid="link-identity"
                    aria-disabled=move || linking.busy()
                >
                    {text.link_account(provider)}
                </button>
            </div>
            {linking.outcome()}
        </form>
    };
    section("identities", text.linked_accounts(), text.linked_accounts_about(), content.into_any())
}

fn row(identity: Identity, unlink: Callback<i64>, text: Language) -> AnyView {
    let Identity { id, label, issuer, created_at, last_used_at, .. } = identity;
    let used = match last_used_at {
        Some(at) => view! { {text.last_used()}" "{when(at.timestamp_millis())} }.into_any(),
        None => text.never_used().into_any(),
    };
    let name = format!("{}: {label}", text.unlink_account());
    view! {
        <li data-testid="identity">
            <span class="setting-item">
                <b dir="auto">{label}</b>
                <span class="setting-note">
                    {issuer}" · "{text.created_at()}" "{when(created_at.timestamp_millis())}" · "{used}
                </span>
            </span>
            <button
                type="button"
                class="button small"
                data-testid="unlink-identity"
                aria-label=name
                on:click=move |_| unlink.run(id)
            >
                {text.unlink_account()}
            </button>
        </li>
    }
    .into_any()
}
