//! One conversation in the list: a link, and in its place the field that renames it or the way to take its deletion back.

use leptos::{html, prelude::*};
use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

use crate::{
    components::{
        icon::{Draw, Icon},
        title_field::TitleField,
    },
    conversation_list::ConversationList,
    language::use_language,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shown,
    Renaming,
    Leaving,
}

/// One conversation.
#[component]
pub(crate) fn SidebarRow(
    item: ConversationSummary,
    list: ConversationList,
    current: Signal<Option<Uuid>>,
    /// Whether a small screen shows the sidebar.
    open: RwSignal<bool>,
) -> impl IntoView {
    let uuid = item.uuid;
    let renaming = RwSignal::new(false);
    let state = Memo::new(move |_| match () {
        () if list.is_leaving(uuid) => State::Leaving,
        () if renaming.get() => State::Renaming,
        () => State::Shown,
    });
    // As it changes; what leaves the list is as it was last.
    let item = Memo::new(move |last: Option<&ConversationSummary>| {
        list.find(uuid).unwrap_or_else(|| last.unwrap_or(&item).clone())
    });
    view! {
        <li class="conversation-row">
            {move || {
                match state.get() {
                    State::Shown => view! { <Shown item list current open renaming /> }.into_any(),
                    State::Renaming => view! { <RenameField item=item.get_untracked() list renaming /> }.into_any(),
                    State::Leaving => view! { <Undo uuid list /> }.into_any(),
                }
            }}
        </li>
    }
    .into_any()
}

#[component]
fn Shown(
    item: Memo<ConversationSummary>,
    list: ConversationList,
    current: Signal<Option<Uuid>>,
    open: RwSignal<bool>,
    renaming: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let uuid = item.with_untracked(|item| item.uuid);
    let title = move || item.with(|item| item.title.clone());
    let runs = Memo::new(move |_| item.with(|item| item.running));
    view! {
        <a
            class="conversation-link"
            href=format!("/c/{uuid}")
            title=title
            data-testid="conversation-link"
            aria-current=move || (current.get() == Some(uuid)).then_some("page")
            on:click=move |_| open.set(false)
        >
            <span class="conversation-title">{title}</span>
            {move || runs.get().then(|| view! { <span class="spinner" role="img" aria-label=text.running()></span> })}
        </a>
        <span class="conversation-actions">
            <button
                type="button"
                class="button icon-only quiet small"
                data-testid="rename"
                title=text.rename()
                aria-label=move || item.with(|item| text.rename_named(&item.title))
                on:click=move |_| renaming.set(true)
            >
                <Draw icon=Icon::Pencil />
            </button>
            <button
                type="button"
                class="button icon-only quiet small"
                data-testid="delete"
                title=text.delete()
                aria-label=move || item.with(|item| text.delete_named(&item.title))
                on:click=move |_| list.delete(uuid)
            >
                <Draw icon=Icon::Bin />
            </button>
        </span>
    }
    .into_any()
}

#[component]
fn RenameField(item: ConversationSummary, list: ConversationList, renaming: RwSignal<bool>) -> impl IntoView {
    let ConversationSummary { uuid, title, .. } = item;
    let old = title.clone();
    let done = Callback::new(move |new: Option<String>| {
        renaming.set(false);
        if let Some(new) = new {
            list.rename(uuid, old.clone(), new);
        }
    });
    view! { <TitleField title done /> }
}

#[component]
fn Undo(uuid: Uuid, list: ConversationList) -> impl IntoView {
    let text = use_language();
    let button = NodeRef::<html::Button>::new();
    // The button that was pressed is gone; the next key should find this one.
    Effect::new(move || {
        if let Some(button) = button.get() {
            request_animation_frame(move || {
                let _ = button.focus();
            });
        }
    });
    view! {
        <span class="conversation-deleted" role="status">{text.deleted()}</span>
        <button type="button" class="button small" data-testid="undo" node_ref=button on:click=move |_| list.undo(uuid)>
            {text.undo()}
        </button>
    }
    .into_any()
}
