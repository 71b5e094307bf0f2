//! The list of conversations, beside the open one; on small screens it lies over it when asked for.

use leptos::{html, prelude::*};
use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        help::HelpSheet,
        icon::{Draw, Icon},
        settings::Settings,
        sidebar_row::SidebarRow,
    },
    conversation_list::{ConversationList, day_label},
    days::Day,
    language::use_language,
    text::PRODUCT,
};

/// Whoever is within so many pixels of the end wants to see more.
const NEAR_END_PX: i32 = 200;
/// The search field's element.
pub(crate) const SEARCH_ID: &str = "search";

/// The list of conversations with the way to a new one.
#[component]
pub(crate) fn Sidebar(
    /// The conversations.
    list: ConversationList,
    /// The one that is open.
    current: Signal<Option<Uuid>>,
    /// Whether a small screen shows the sidebar.
    open: RwSignal<bool>,
    sheet: HelpSheet,
) -> impl IntoView {
    let text = use_language();
    let area = NodeRef::<html::Nav>::new();
    let note = move || {
        if let Some(error) = list.error.get() {
            return Some(view! { <p class="sidebar-note" role="alert">{error.message}</p> }.into_any());
        }
        let words = if list.is_search() { text.nothing_found() } else { text.no_conversations() };
        list.items().is_empty().then(|| view! { <p class="sidebar-note" role="status">{words}</p> }.into_any())
    };
    view! {
        <div class="scrim" on:click=move |_| open.set(false)></div>
        <nav
            class="sidebar"
            id="sidebar"
            data-testid="sidebar"
            aria-label=text.conversations()
            node_ref=area
            on:scroll=move |_| if area.get_untracked().is_some_and(|area| is_near_end(&area)) {
                list.load_more();
            }
        >
            <div class="sidebar-top">
                <a class="brand" href="/">{PRODUCT}</a>
                <button
                    type="button"
                    class="button icon-only quiet narrow-only"
                    aria-label=text.close_sidebar()
                    on:click=move |_| open.set(false)
                >
                    <Draw icon=Icon::Cross />
                </button>
            </div>
            <a
                class="button new-chat"
                href="/"
                data-testid="new-chat"
                on:click=move |_| open.set(false)
            >
                <Draw icon=Icon::Plus />
                {text.new_chat()}
            </a>
            <input
                type="search"
                class="field search"
                id=SEARCH_ID
                data-testid="search"
                autocomplete="off"
                aria-label=text.search()
                placeholder=text.search()
                disabled=!browser::IS_HERE
                prop:value=move || list.search.get()
                on:input:target=move |event| list.search_for(event.target().value())
                on:keydown=move |event| if event.key() == "Escape" && !list.search.with_untracked(String::is_empty) {
                    // It ends the search, and nothing else.
                    event.prevent_default();
                    list.search_for(String::new());
                }
            />
            <h2 class="sidebar-heading" class:visually-hidden=move || list.has_days()>{text.conversations()}</h2>
            <ul class="conversations">
                <For
                    each=move || lines(list)
                    key=Line::key
                    children=move |line| match line {
                        Line::Day(day) => view! {
                            <li class="day"><h3>{day_label(text, day)}</h3></li>
                        }
                        .into_any(),
                        Line::Conversation(item) => view! { <SidebarRow item list current open /> }.into_any(),
                    }
                />
            </ul>
            {note}
            {move || list.notice.get().map(|notice| view! {
                <p class="sidebar-note" role="alert">{notice}</p>
            })}
            <Show when=move || list.has_more()>
                <button type="button" class="button small show-more" data-testid="show-more" on:click=move |_| list.load_more()>
                    {text.show_more()}
                </button>
            </Show>
            <Settings sheet />
        </nav>
    }
    .into_any()
}

/// A line of the list.
#[derive(Clone)]
enum Line {
    Day(Day),
    Conversation(ConversationSummary),
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Day(Day),
    /// Whatever becomes of its words: somebody may be changing them.
    Conversation(Uuid),
}

impl Line {
    fn key(&self) -> Key {
        match self {
            Self::Day(day) => Key::Day(*day),
            Self::Conversation(item) => Key::Conversation(item.uuid),
        }
    }
}

/// The conversations, with a heading where another day begins.
fn lines(list: ConversationList) -> Vec<Line> {
    let mut shown = None;
    let mut lines = Vec::new();
    for item in list.items() {
        let day = list.day_of(&item);
        // Each heading once: two of one name would be one line.
        if day > shown {
            lines.extend(day.map(Line::Day));
            shown = day;
        }
        lines.push(Line::Conversation(item));
    }
    lines
}

fn is_near_end(area: &web_sys::HtmlElement) -> bool {
    area.scroll_height() - area.scroll_top() - area.client_height() <= NEAR_END_PX
}
