//! The section that exports all data and deletes the account.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{mutation::Mutation, password, section::section};
use crate::{
    api::account::{self, EXPORT_URL},
    browser,
    components::icon::{Draw, Icon},
    drafts,
    in_turn::in_next_frame,
    language::Language,
};

pub(super) fn export_section(text: Language) -> AnyView {
    let content = view! {
        <a class="button" href=EXPORT_URL download="" data-testid="export-all">
            <Draw icon=Icon::Download />
            {text.export_all()}
        </a>
    };
    section("data", text.your_data(), text.your_data_about(), content.into_any())
}

/// The form is behind a button, so that password managers do not fill it in.
pub(super) fn delete_section(text: Language) -> AnyView {
    let is_open = RwSignal::new(false);
    let password = RwSignal::new(String::new());
    let mutation = Mutation::new();
    let delete = move |event: SubmitEvent| {
        event.prevent_default();
        let given = password.get_untracked();
        mutation.run(text, async move { account::delete_me(&given).await }, |()| {
            drafts::clear();
            // The server redirects to the form.
            browser::reload();
            None
        });
    };
    let form = move || {
        view! {
            <form class="setting-form" on:submit=delete>
                {password::field("delete-password", text.password_current(), "current-password", None, password)}
                <div class="setting-buttons">
                    <button type="submit" class="button danger" data-testid="delete-account" aria-disabled=move || mutation.busy()>
                        {text.delete_account_confirm()}
                    </button>
                    <button type="button" class="button quiet" on:click=move |_| {
                        is_open.set(false);
                        password.set(String::new());
                    }>
                        {text.cancel()}
                    </button>
                </div>
                {mutation.outcome()}
            </form>
        }
    };
    let open = move |_| {
        is_open.set(true);
        in_next_frame(|| {
            browser::focus("delete-password");
        });
    };
    let content = move || {
        if is_open.get() {
            return form().into_any();
        }
        view! {
            <button type="button" class="button danger" data-testid="open-delete-account" on:click=open>
                {text.delete_account_open()}
            </button>
        }
        .into_any()
    };
    section("delete", text.delete_account(), text.delete_account_about(), content.into_any())
}
