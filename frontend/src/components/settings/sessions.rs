//! The section with the browsers in which the user is signed in.

use leptos::prelude::*;
use tallybook_protocol::Session;

use super::{browser_name::browser_name, list::List, mutation::Mutation, section::section};
use crate::{
    api::account,
    browser,
    components::parts::{switches::switch, times::when},
    drafts,
    language::Language,
};

pub(super) fn section_view(text: Language) -> AnyView {
    let list = List::new(text, account::list_sessions);
    let (one, all) = (Mutation::new(), Mutation::new());
    let revoke_keys = RwSignal::new(false);
    let end = Callback::new(move |id: i64| {
        one.run(text, account::end_session(id), move |()| {
            list.take_out(move |session: &Session| session.id == id);
            None
        });
    });
    let end_all = move |_| {
        all.run(text, account::sign_out_everywhere(revoke_keys.get_untracked()), |()| {
            drafts::clear();
            // The server redirects to the form.
            browser::reload();
            None
        });
    };
    let rows = list.view("sessions", text, None, move |session| row(session, end, text));
    let content = view! {
        {rows}
        {one.outcome()}
        {switch(text.keys_revoke_all(), "sessions-revoke-keys", revoke_keys, move |is_on| revoke_keys.set(is_on))}
        <div class="setting-buttons">
            <button
                type="button"
                class="button"
                data-testid="sign-out-everywhere"
                aria-disabled=move || all.busy()
                on:click=end_all
            >
                {text.session_end_all()}
            </button>
        </div>
        {all.outcome()}
    };
    section("sessions", text.sessions(), text.sessions_about(), content.into_any())
}

fn row(session: Session, end: Callback<i64>, text: Language) -> AnyView {
    let Session { id, current, last_seen_at, user_agent, address, .. } = session;
    let name = match browser_name(&user_agent) {
        Some((browser, system)) => text.browser_on(browser, system),
        None => text.unknown_browser().to_owned(),
    };
    let label = format!("{}: {name}, {address}", text.session_end());
    let side = if current {
        view! { <span class="setting-badge">{text.session_current()}</span> }.into_any()
    } else {
        view! {
            <button
                type="button"
                class="button small"
                data-testid="end-session"
                aria-label=label
                on:click=move |_| end.run(id)
            >
                {text.session_end()}
            </button>
        }
        .into_any()
    };
    view! {
        <li data-testid="session">
            <span class="setting-item" title=user_agent>
                <b>{name}</b>
                <span class="setting-note">{address}" · "{text.last_used()}" "{when(last_seen_at.timestamp_millis())}</span>
            </span>
            {side}
        </li>
    }
    .into_any()
}
