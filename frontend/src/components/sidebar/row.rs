//! A conversation in the list: a link with a menu button, a checkbox while the user selects several, or the rename
//! field.

use leptos::{ev::MouseEvent, html, prelude::*};
use tallybook_nodes::bounded;
use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

use crate::{
    address::Address,
    browser,
    components::{
        header::conversation_menu::ROW_MENU,
        lazy::{LazyPart, lazy},
        parts::{
            icon::{Draw, Icon},
            ids::{choice_id, link_id},
        },
    },
    conversation_list::ConversationList,
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::memo,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowState {
    Shown,
    Renaming,
    Choosing,
}

/// A conversation in the list.
#[component]
pub(crate) fn SidebarRow(
    item: ConversationSummary,
    list: ConversationList,
    current: Signal<Option<Uuid>>,
    /// `true` while a small screen shows the sidebar.
    open: RwSignal<bool>,
    /// The conversation whose menu is open.
    menu: RwSignal<Option<Uuid>>,
) -> impl IntoView {
    let uuid = item.uuid;
    let state = memo(move |_| match () {
        () if list.renaming.get() == Some(uuid) => RowState::Renaming,
        () if list.is_selecting() => RowState::Choosing,
        () => RowState::Shown,
    });
    // Follows changes. A conversation that leaves the list keeps its last state.
    let item = memo(move |last: Option<&ConversationSummary>| {
        list.find(uuid).unwrap_or_else(|| last.unwrap_or(&item).clone())
    });
    view! {
        <li class="conversation-row">
            {move || {
                match state.get() {
                    RowState::Shown => view! { <Shown item current open menu /> }.into_any(),
                    RowState::Renaming => view! { <RenameField item=item.get_untracked() list /> }.into_any(),
                    RowState::Choosing => view! { <Choice item list /> }.into_any(),
                }
            }}
        </li>
    }
    .into_any()
}

#[component]
fn Shown(
    item: Memo<ConversationSummary>,
    current: Signal<Option<Uuid>>,
    open: RwSignal<bool>,
    menu: RwSignal<Option<Uuid>>,
) -> impl IntoView {
    let text = use_language();
    let uuid = item.with_untracked(|item| item.uuid);
    let title = move || item.with(|item| bounded(&item.title).into_owned());
    let runs = memo(move |_| item.with(|item| item.running));
    let waits = memo(move |_| item.with(|item| item.awaiting_approval && !item.running));
    view! {
        <a
            class="conversation-link"
            id=link_id(uuid)
            href=Address::Conversation(uuid).pathname()
            title=title
            data-testid="conversation-link"
            aria-current=move || (current.get() == Some(uuid)).then_some("page")
            on:click=move |_| open.set(false)
        >
            <span class="conversation-title">{title}</span>
            {move || waits.get().then(|| view! {
                <span class="row-waits" role="img" aria-label=text.needs_your_approval() data-testid="row-waits">
                    <Draw icon=Icon::Hand />
                </span>
            })}
            {move || runs.get().then(|| view! { <span class="spinner" role="img" aria-label=text.running()></span> })}
        </a>
        <button
            type="button"
            class="button icon-only quiet small row-menu-button"
            class:menu-anchor=move || menu.get() == Some(uuid)
            data-testid="row-menu"
            title=text.more_actions()
            aria-label=move || item.with(|item| text.more_actions_for(&item.title))
            popovertarget=ROW_MENU
            aria-haspopup="menu"
            // All rows share one menu.
            popovertargetaction="show"
            on:click=move |_| menu.set(Some(uuid))
        >
            <Draw icon=Icon::Dots />
        </button>
    }
    .into_any()
}

#[component]
fn Choice(item: Memo<ConversationSummary>, list: ConversationList) -> impl IntoView {
    let uuid = item.with_untracked(|item| item.uuid);
    let field = NodeRef::<html::Input>::new();
    view! {
        <label class="conversation-link">
            <input
                type="checkbox"
                data-testid="choose"
                id=choice_id(uuid)
                node_ref=field
                prop:checked=move || list.is_chosen(uuid)
                on:click=move |event: MouseEvent| {
                    list.choose(uuid, event.shift_key());
                    // Selecting a range keeps it checked, whatever the browser did with the click.
                    if let Some(field) = field.get_untracked() {
                        field.set_checked(untrack(|| list.is_chosen(uuid)));
                    }
                }
            />
            <span class="conversation-title">{move || item.with(|item| bounded(&item.title).into_owned())}</span>
        </label>
    }
    .into_any()
}

#[component]
fn RenameField(item: ConversationSummary, list: ConversationList) -> impl IntoView {
    let ConversationSummary { uuid, title, .. } = item;
    let done = Callback::new(move |new: Option<String>| {
        list.renaming.set(None);
        if let Some(new) = new {
            list.rename(uuid, new);
        }
        in_next_frame(move || {
            browser::focus_if_free(&link_id(uuid));
        });
    });
    lazy(move || Some(LazyPart::TitleField { title: title.clone(), done }))
}
