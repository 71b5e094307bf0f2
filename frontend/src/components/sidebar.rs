//! The list of conversations, beside the open one; on small screens it lies over it when asked for.

use leptos::prelude::*;
use tallybook_protocol::{ConversationSummary, Page};
use uuid::Uuid;

use crate::{
    components::icon::{Draw, Icon},
    data::PageError,
    text,
};

/// The list of conversations with the way to a new one.
#[component]
pub(crate) fn Sidebar(
    /// The newest conversations.
    list: Resource<Result<Page<ConversationSummary>, PageError>>,
    /// The one that is open.
    current: Signal<Option<Uuid>>,
    /// Whether a small screen shows the sidebar.
    open: RwSignal<bool>,
) -> impl IntoView {
    let items = move || list.get().and_then(Result::ok).map(|page| page.items).unwrap_or_default();
    let note = move || match list.get()? {
        Ok(page) if page.items.is_empty() => {
            Some(view! { <p class="sidebar-note">{text::NO_CONVERSATIONS}</p> }.into_any())
        }
        Ok(_) => None,
        Err(error) => Some(view! { <p class="sidebar-note" role="alert">{error.message}</p> }.into_any()),
    };
    view! {
        <div class="scrim" on:click=move |_| open.set(false)></div>
        <nav
            class="sidebar"
            id="sidebar"
            data-testid="sidebar"
            aria-label=text::CONVERSATIONS
            on:keydown=move |event| if event.key() == "Escape" { open.set(false) }
        >
            <div class="sidebar-top">
                <a class="brand" href="/">{text::PRODUCT}</a>
                <button
                    type="button"
                    class="icon-button sidebar-button"
                    aria-label=text::CLOSE_SIDEBAR
                    on:click=move |_| open.set(false)
                >
                    <Draw icon=Icon::Cross />
                </button>
            </div>
            <a
                class="new-chat"
                href="/"
                data-testid="new-chat"
                on:click=move |_| open.set(false)
            >
                <Draw icon=Icon::Plus />
                {text::NEW_CHAT}
            </a>
            <h2 class="sidebar-heading">{text::CONVERSATIONS}</h2>
            <Transition>
                <ul class="conversations">
                    <For
                        each=items
                        // A row whose words changed is a new row.
                        key=|item| (item.uuid, item.title.clone(), item.running)
                        children=move |item| view! { <ConversationLink item current open /> }
                    />
                </ul>
                {note}
            </Transition>
        </nav>
    }
    .into_any()
}

#[component]
fn ConversationLink(item: ConversationSummary, current: Signal<Option<Uuid>>, open: RwSignal<bool>) -> impl IntoView {
    let uuid = item.uuid;
    view! {
        <li>
            <a
                class="conversation-link"
                href=format!("/c/{uuid}")
                title=item.title.clone()
                data-testid="conversation-link"
                aria-current=move || (current.get() == Some(uuid)).then_some("page")
                on:click=move |_| open.set(false)
            >
                <span class="conversation-title">{item.title.clone()}</span>
                {item.running.then(|| view! { <span class="spinner" role="img" aria-label=text::RUNNING></span> })}
            </a>
        </li>
    }
}
