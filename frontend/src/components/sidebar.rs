//! The sidebar with the list of conversations; on small screens, a drawer over the page.

pub(crate) mod footer;
pub(crate) mod row;
pub(crate) mod search_results;
pub(crate) mod selection_bar;
pub(crate) mod undo_notes;

use leptos::{html, prelude::*};
use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        dialogs::help::HelpSheet,
        header::conversation_menu::RowMenu,
        lazy::{LazyPart, lazy},
        parts::{
            commands::escapes,
            each::Each,
            icon::{Draw, Icon},
            ids::{CLOSE_ID, SEARCH_ID, SIDEBAR_ID},
        },
        sidebar::{footer::SidebarFooter, row::SidebarRow},
    },
    conversation_list::{ConversationList, ListGroup, ListView, group_label},
    goal::Goal,
    i18n::PRODUCT,
    language::{Language, use_language},
    mount_schedule::in_next_frame,
    reactive::memo,
};

/// Distance from the end in pixels within which more conversations are loaded.
const NEAR_END_PX: i32 = 200;
const ARCHIVE_ID: &str = "open-archive";
const LEAVE_ARCHIVE_ID: &str = "leave-archive";

/// The list of conversations, and the link to a new chat.
#[component]
pub(crate) fn Sidebar(
    /// The conversations.
    list: ConversationList,
    /// The open conversation.
    current: Signal<Option<Uuid>>,
    /// `true` while a small screen shows the sidebar.
    open: RwSignal<bool>,
    sheet: HelpSheet,
    /// Goes to a message in the search results.
    go: Callback<Goal>,
) -> impl IntoView {
    let text = use_language();
    let area = NodeRef::<html::Nav>::new();
    let menu = RwSignal::new(None);
    // The element stays, so that a screen reader announces its changes.
    let searched = memo(move |was| was == Some(&true) || list.search.with(|words| !words.trim().is_empty()));
    let is_selecting = memo(move |_| list.is_selecting());
    // While a row has a rename field, the list does not change: the field would lose the focus.
    let lines = memo(move |held: Option<&Vec<SidebarLine>>| {
        let renamed = list.renaming.get().map(SidebarKey::Conversation);
        match held {
            Some(held) if renamed.is_some() && held.iter().any(|line| Some(line.key()) == renamed) => held.clone(),
            _ => lines(list),
        }
    });
    view! {
        <div class="scrim" on:click=move |_| open.set(false)></div>
        <nav
            class="sidebar"
            id=SIDEBAR_ID
            data-part=""
            data-testid="sidebar"
            aria-label=text.conversations()
            node_ref=area
            on:scroll=move |_| if area.get_untracked().is_some_and(|area| is_near_end(&area)) {
                list.load_more();
            }
        >
            <div class="sidebar-head">
            <div class="sidebar-top">
                <a class="brand" href="/">{PRODUCT}</a>
                <button
                    type="button"
                    class="button icon-only quiet over-page-only"
                    id=CLOSE_ID
                    aria-label=text.close_sidebar()
                    on:click=move |_| open.set(false)
                >
                    <Draw icon=Icon::Cross />
                </button>
            </div>
            <a
                class="button new-chat"
                id="new-chat"
                href="/"
                data-testid="new-chat"
                on:click=move |_| open.set(false)
            >
                <Draw icon=Icon::Plus />
                {text.new_chat()}
            </a>
            {search_field(list, text)}
            </div>
            {move || heading(list, text)}
            <ul class="conversations">
                <Each
                    each=move || lines.get()
                    key=SidebarLine::key
                    children=move |line| match line {
                        SidebarLine::Group(group) => view! {
                            <li class="day"><h3>{group_label(text, group)}</h3></li>
                        }
                        .into_any(),
                        SidebarLine::Conversation(item) => view! { <SidebarRow item list current open menu /> }.into_any(),
                    }
                />
            </ul>
            {move || note(list, text)}
            {move || list.notice.get().map(|notice| view! {
                <p class="sidebar-note" role="alert">{notice}</p>
            })}
            <Show when=move || list.has_more()>
                <button type="button" class="button small show-more" data-testid="show-more" on:click=move |_| list.load_more()>
                    {text.show_more()}
                </button>
            </Show>
            {lazy(move || searched.get().then_some(LazyPart::SearchResults { list, go }))}
            <div class="sidebar-footer">
                {lazy(move || is_selecting.get().then_some(LazyPart::SelectionBar(list)))}
                {move || way_to_archive(list, text)}
                <SidebarFooter open sheet />
            </div>
            <RowMenu list shown=menu />
        </nav>
    }
    .into_any()
}

/// The reason why the list is empty.
fn note(list: ConversationList, text: Language) -> Option<AnyView> {
    if let Some(error) = list.error.get() {
        return Some(view! { <p class="sidebar-note" role="alert">{error.message}</p> }.into_any());
    }
    let words = match list.view() {
        ListView::Search => text.nothing_found(),
        ListView::Archive => text.nothing_archived(),
        ListView::Conversations => text.no_conversations(),
    };
    list.items().is_empty().then(|| view! { <p class="sidebar-note" role="status">{words}</p> }.into_any())
}

/// The button that opens the archive.
fn way_to_archive(list: ConversationList, text: Language) -> Option<AnyView> {
    let button = || {
        view! {
            <button
                type="button"
                class="button quiet open-archive"
                id=ARCHIVE_ID
                data-testid="open-archive"
                on:click=move |_| show_archive(list, true)
            >
                <Draw icon=Icon::Box />
                {text.archive_title()}
            </button>
        }
        .into_any()
    };
    (list.view() == ListView::Conversations).then(button)
}

/// Renders the search field.
fn search_field(list: ConversationList, text: Language) -> AnyView {
    view! {
        <div class="search-place">
            <Draw icon=Icon::Magnifier />
            <input
                type="search"
                class="field search"
                id=SEARCH_ID
                data-testid="search"
                autocomplete="off"
                aria-label=text.search()
                placeholder=text.search()
                prop:value=move || list.search.get()
                on:input:target=move |event| list.search_for(event.target().value())
                on:keydown=move |event| if escapes(&event) && !list.search.with_untracked(String::is_empty) {
                    // Escape ends the search, and does nothing else.
                    event.prevent_default();
                    list.search_for(String::new());
                }
            />
        </div>
    }
    .into_any()
}

/// The heading of the list: visually hidden above the groups, and with a Back button in the archive.
fn heading(list: ConversationList, text: Language) -> AnyView {
    if list.view() == ListView::Archive {
        return view! {
            <div class="archive-top">
                <h2 class="sidebar-heading">{text.archive_title()}</h2>
                <button
                    type="button"
                    class="button small"
                    id=LEAVE_ARCHIVE_ID
                    data-testid="leave-archive"
                    on:click=move |_| show_archive(list, false)
                >
                    {text.leave_archive()}
                </button>
            </div>
        }
        .into_any();
    }
    let is_grouped = !list.is_search() && !list.items().is_empty();
    view! { <h2 class="sidebar-heading" class:visually-hidden=is_grouped>{text.conversations()}</h2> }.into_any()
}

/// Opens or closes the archive. The clicked button is removed, so the focus moves to the one that leads back.
fn show_archive(list: ConversationList, is_shown: bool) {
    list.show_archive(is_shown);
    in_next_frame(move || {
        browser::focus_if_free(if is_shown { LEAVE_ARCHIVE_ID } else { ARCHIVE_ID });
    });
}

/// A line of the list.
#[derive(Clone, PartialEq)]
enum SidebarLine {
    Group(ListGroup),
    Conversation(ConversationSummary),
}

#[derive(PartialEq, Eq, Hash)]
enum SidebarKey {
    Group(ListGroup),
    /// Independent of its title, because the user may be editing it.
    Conversation(Uuid),
}

impl SidebarLine {
    fn key(&self) -> SidebarKey {
        match self {
            Self::Group(group) => SidebarKey::Group(*group),
            Self::Conversation(item) => SidebarKey::Conversation(item.uuid),
        }
    }
}

/// Returns the conversations, with a heading before each group.
fn lines(list: ConversationList) -> Vec<SidebarLine> {
    let mut shown = None;
    let mut lines = Vec::new();
    for item in list.items() {
        let group = list.group_of(&item);
        // Each heading occurs once, because lines are keyed by their names.
        if group > shown {
            lines.extend(group.map(SidebarLine::Group));
            shown = group;
        }
        lines.push(SidebarLine::Conversation(item));
    }
    lines
}

fn is_near_end(area: &web_sys::HtmlElement) -> bool {
    area.scroll_height() - area.scroll_top() - area.client_height() <= NEAR_END_PX
}
