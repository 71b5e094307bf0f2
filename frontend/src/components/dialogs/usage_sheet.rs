//! The sheet with the usage of a conversation or an answer, by purpose. It is loaded when the sheet is opened.

use leptos::{html, prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, PurposeUsage};
use uuid::Uuid;

use crate::{
    api,
    components::{
        dialogs::{sheet_top::sheet_top, usage_rows::usage_rows},
        parts::typing::focus_composer,
    },
    language::use_language,
    reactive::effect,
};

/// The conversation or answer whose usage is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsageOf {
    pub(crate) conversation: Uuid,
    /// The answer; `None` for the whole conversation.
    pub(crate) message: Option<MessageId>,
}

/// The usage whose sheet is open.
pub(crate) type ShownUsage = RwSignal<Option<UsageOf>>;

/// The sheet, which is opened when it is mounted.
#[component]
pub(crate) fn UsageSheet(of: UsageOf, shown: ShownUsage) -> impl IntoView {
    let text = use_language();
    let place = NodeRef::<html::Dialog>::new();
    let found = RwSignal::new(None::<Result<Vec<PurposeUsage>, String>>);
    effect(move || {
        if let Some(dialog) = place.get() {
            // Fails only if it is already open.
            let _ = dialog.show_modal();
            spawn_local(async move {
                let response = api::find_usage(of.conversation, of.message).await;
                // A response after the sheet is closed is ignored.
                found.try_set(Some(response.map_err(|error| error.message(text))));
            });
        }
    });
    let about = if of.message.is_some() { text.usage_of_answer() } else { text.usage_of_conversation() };
    let content = move || match found.get() {
        None => view! { <p class="sheet-note">{text.loading_list()}</p> }.into_any(),
        Some(Err(why)) => view! { <p class="failure">{why}</p> }.into_any(),
        Some(Ok(items)) if items.is_empty() => view! { <p class="sheet-note">{text.usage_none()}</p> }.into_any(),
        Some(Ok(items)) => view! { <div class="usage-rows">{usage_rows(items, text)}</div> }.into_any(),
    };
    view! {
        <dialog
            class="sheet"
            data-testid="usage-sheet"
            aria-labelledby="usage-title"
            closedby="any"
            node_ref=place
            on:close=move |_| {
                shown.set(None);
                // A menu item that opened it cannot take the focus back.
                focus_composer();
            }
        >
            {sheet_top("usage-title", text.usage_title().to_owned(), text.usage_close())}
            <p class="sheet-note">{about}</p>
            <div role="status">{content}</div>
        </dialog>
    }
    .into_any()
}
