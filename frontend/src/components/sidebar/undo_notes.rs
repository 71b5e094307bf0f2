//! Notes about recent actions on conversations, with Undo, and about failed changes. They are above the page, so that
//! they are visible anywhere.

use leptos::{html, prelude::*};

use crate::{
    browser,
    components::parts::{
        each::Each,
        icon::{Draw, Icon},
        ids::{CLOSE_ID, MAIN_ID, link_id},
    },
    conversation_list::{Batch, ConversationList},
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::effect,
};

/// The note about an action.
#[component]
pub(crate) fn UndoNotes(list: ConversationList) -> impl IntoView {
    view! {
        <Each
            each=move || list.batches()
            // A conversation may leave its batch.
            key=|batch| (batch.number, batch.conversations.len())
            children=move |batch| view! { <UndoNote batch list /> }
        />
    }
}

/// The note about a failed change.
#[component]
pub(crate) fn ListTrouble(words: String, list: ConversationList) -> impl IntoView {
    let text = use_language();
    view! {
        <p class="failure" role="alert" data-testid="list-trouble">
            {words}
            <button
                type="button"
                class="button icon-only quiet small"
                aria-label=text.help_close()
                on:click=move |_| list.trouble.set(None)
            >
                <Draw icon=Icon::Cross />
            </button>
        </p>
    }
    .into_any()
}

#[component]
fn UndoNote(batch: Batch, list: ConversationList) -> impl IntoView {
    let text = use_language();
    let button = NodeRef::<html::Button>::new();
    let number = batch.number;
    // The clicked element is removed, so the focus moves to this button, unless the user is typing.
    effect(move || {
        if let Some(button) = button.get() {
            in_next_frame(move || {
                if !browser::is_typed_in() {
                    let _ = button.focus();
                }
            });
        }
    });
    on_cleanup(|| {
        // Its time is over, perhaps while it has the focus.
        if browser::IS_HERE {
            in_next_frame(|| {
                let _ = browser::focus_if_free(MAIN_ID) || browser::focus_if_free(CLOSE_ID);
            });
        }
    });
    let take_back = move |_| {
        let first = list.take_back(number).map(link_id);
        in_next_frame(move || {
            let _ = first.is_some_and(|first| browser::focus(&first));
        });
    };
    view! {
        <p class="undo-note">
            <span>{text.undo_notice(batch.action, &batch.conversations)}</span>
            <button type="button" class="button small" data-testid="undo" node_ref=button on:click=take_back>
                {text.undo()}
            </button>
        </p>
    }
    .into_any()
}
