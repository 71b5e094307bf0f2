//! The sections that export all data, delete all conversations, and delete the account.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{mutation::Mutation, password, section::section};
use crate::{
    api::{
        self,
        account::{self, EXPORT_URL},
    },
    browser,
    components::parts::icon::{Draw, Icon},
    conversation_list::ConversationList,
    drafts,
    language::Language,
    mount_schedule::in_next_frame,
};

/// IDs of the buttons that open and close the confirmations, for the focus.
const OPEN_ID: &str = "open-delete-conversations";
const CANCEL_ID: &str = "cancel-delete-conversations";
const KEEP_ACCOUNT_ID: &str = "keep-account";

pub(super) fn export_section(text: Language) -> AnyView {
    let content = view! {
        <a class="button" href=EXPORT_URL download="" data-testid="export-all">
            <Draw icon=Icon::Download />
            {text.export_all()}
        </a>
    };
    section("data", text.your_data(), text.your_data_about(), content.into_any())
}

/// Deletes all conversations, after a confirmation that names their number. The number is requested when the user opens
/// the confirmation.
pub(super) fn delete_conversations_section(list: ConversationList, text: Language) -> AnyView {
    let count = RwSignal::new(None::<u64>);
    let mutation = Mutation::new();
    let close = move || {
        count.set(None);
        in_next_frame(|| {
            browser::focus(OPEN_ID);
        });
    };
    let open = move |_| {
        mutation.run(text, account::find_me(), move |me| {
            if me.conversations == 0 {
                return Some(text.no_conversations_left());
            }
            count.set(Some(me.conversations));
            in_next_frame(|| {
                browser::focus(CANCEL_ID);
            });
            None
        });
    };
    let delete = move |_| {
        mutation.run(text, api::delete_all_conversations(), move |_| {
            list.clear();
            close();
            Some(text.conversations_deleted())
        });
    };
    let confirmation = move |number: u64| {
        view! {
            <p data-testid="delete-conversations-question">{text.delete_conversations_question(number)}</p>
            <div class="setting-buttons">
                <button
                    type="button"
                    class="button danger"
                    data-testid="delete-conversations"
                    aria-disabled=move || mutation.busy()
                    on:click=delete
                >
                    {text.delete_account_confirm()}
                </button>
                <button type="button" class="button quiet" id=CANCEL_ID on:click=move |_| close()>
                    {text.cancel()}
                </button>
            </div>
        }
        .into_any()
    };
    let button = move || {
        view! {
            <button
                type="button"
                class="button danger"
                id=OPEN_ID
                data-testid="open-delete-conversations"
                aria-disabled=move || mutation.busy()
                on:click=open
            >
                {text.delete_conversations_open()}
            </button>
        }
        .into_any()
    };
    let content = view! {
        {move || count.get().map_or_else(button, confirmation)}
        {mutation.outcome()}
    };
    let (title, about) = (text.delete_conversations(), text.delete_conversations_about());
    section("delete-conversations", title, about, content.into_any())
}

/// The form is behind a button, so that password managers do not fill it in.
pub(super) fn delete_section(has_password: bool, text: Language) -> AnyView {
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
                {password::proof("delete-password", has_password, text.delete_password(), password, text)}
                <div class="setting-buttons">
                    <button type="submit" class="button danger" data-testid="delete-account" aria-disabled=move || mutation.busy()>
                        {text.delete_account_confirm()}
                    </button>
                    <button type="button" class="button quiet" id=KEEP_ACCOUNT_ID on:click=move |_| {
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
        in_next_frame(move || {
            browser::focus(if has_password { "delete-password" } else { KEEP_ACCOUNT_ID });
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
