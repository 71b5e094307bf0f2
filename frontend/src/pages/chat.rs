//! The page of a chat: the list of conversations beside the one that is open. It serves the new chat and every
//! conversation; which one is open follows from the address.

use leptos::{
    prelude::*,
    task::{spawn_local, tick},
};
use tallybook_protocol::Conversation;
use uuid::Uuid;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};

use crate::{
    address::{Address, Navigation},
    components::{
        chat_pane::ChatPane,
        commands::on_command,
        header::{ConversationActions, Header},
        help::{self, Help, HelpSheet},
        outdated::Outdated,
        sidebar::{SEARCH_ID, Sidebar},
    },
    conversation_list::ConversationList,
    feed::Feed,
    keys::Command,
    language::use_language,
    preferences,
    session::{Place, Ways},
    start::{Content, Start},
};

/// The pane that is open. A new number means that it has to be built anew, which a new chat that became a conversation
/// need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opened {
    number: u32,
    address: Address,
}

/// The chat page.
#[component]
pub(crate) fn ChatPage(start: Start) -> impl IntoView {
    let text = use_language();
    let Start { address, folder, list, content, model, offer } = start;
    provide_context(offer);
    let navigation = Navigation::new(address);
    // The conversation that the new chat in pane so-and-so became.
    let became = StoredValue::new(None::<(u32, Uuid)>);
    let opened = use_opened(navigation, became);

    // The open pane says it, as soon as it knows.
    let title = RwSignal::new(match &content {
        Content::Conversation(conversation) => Some(conversation.summary.title.clone()),
        Content::NewChat | Content::Missing | Content::Failed(_) => None,
    });
    let sidebar_open = RwSignal::new(false);
    let feed = Feed::new(folder);
    let list = ConversationList::new(list, feed);
    list.follow(feed);
    let actions = ConversationActions {
        rename: Callback::new(move |(uuid, old, new)| list.rename(uuid, old, new)),
        delete: Callback::new(move |uuid| {
            list.delete(uuid);
            // The way to take it back is in the list.
            sidebar_open.set(true);
        }),
    };
    // What the server has sent is for the first pane.
    let content = StoredValue::new(Some(content));
    let ways = move |number| Ways {
        became: Callback::new(move |uuid| {
            // Another one may have been opened meanwhile.
            if opened.get_untracked().number == number {
                became.set_value(Some((number, uuid)));
                navigation.replace(Address::Conversation(uuid));
            }
        }),
        open_new_chat: Callback::new(move |()| {
            if opened.get_untracked().number == number {
                navigation.replace(Address::NewChat);
            }
        }),
    };
    let current = Signal::derive(move || navigation.get().uuid());
    // A place on a small screen was chosen: what was chosen matters now.
    Effect::new(move || {
        navigation.get();
        sidebar_open.set(false);
    });
    let sheet = HelpSheet::new();
    on_command(move |command| {
        match command {
            Command::Search => {
                sidebar_open.set(is_sidebar_over_page() || is_sidebar_folded());
                focus_search();
            }
            Command::Close if sidebar_open.get_untracked() => sidebar_open.set(false),
            Command::NewChat => navigation.go(Address::NewChat),
            Command::Help => help::toggle(sheet),
            Command::Close | Command::PreviousCall | Command::NextCall | Command::ToggleCalls => return false,
        }
        true
    });
    mark_alive();
    let is_demo = model.provider == "demo";

    view! {
        <a class="skip-link" href="#main">{text.skip_sidebar()}</a>
        <div class="page" class:sidebar-open=sidebar_open>
            <Sidebar list current open=sidebar_open sheet />
            <main class="main" id="main" tabindex="-1">
                <Header model current title=title.into() actions sidebar_open />
                <Outdated feed />
                // Each pane is built anew: what was said long ago in one is no news in another.
                <For
                    each=move || [opened.get()]
                    key=|opened| opened.number
                    children=move |Opened { number, address }| {
                        let (place, conversation) = match content.try_update_value(Option::take).flatten() {
                            Some(content) => place_of(address, content),
                            None => (place_at(address), None),
                        };
                        view! { <ChatPane place conversation is_demo list current title feed ways=ways(number) /> }
                    }
                />
            </main>
        </div>
        <Help sheet />
    }
    .into_any()
}

/// Where a session begins that asks for its conversation itself.
fn place_at(address: Address) -> Place {
    match address {
        Address::NewChat => Place::NewChat,
        Address::Conversation(uuid) => Place::Loading(uuid),
        Address::Malformed => Place::Missing,
    }
}

/// Where a session begins whose content the server has sent.
fn place_of(address: Address, content: Content) -> (Place, Option<Conversation>) {
    match (content, address) {
        (Content::Conversation(conversation), _) => (Place::Open(conversation.summary.uuid), Some(*conversation)),
        (Content::Failed(words), Address::Conversation(uuid)) => (Place::Failed(uuid, words), None),
        (Content::Missing, _) => (Place::Missing, None),
        (Content::NewChat | Content::Failed(_), _) => (place_at(address), None),
    }
}

/// Whether the sidebar lies over the page, where it is opened by its button.
fn is_sidebar_over_page() -> bool {
    let button = document().query_selector("[data-testid=open-sidebar]").ok().flatten();
    let button = button.and_then(|button| button.dyn_into::<HtmlElement>().ok());
    button.is_some_and(|button| button.offset_parent().is_some())
}

/// Whether the sidebar was folded away, where it comes back over the page for a search.
fn is_sidebar_folded() -> bool {
    let kept = document().document_element().and_then(|root| root.get_attribute("data-sidebar"));
    kept.is_some_and(|name| name == preferences::Sidebar::Folded.name())
}

/// Gives the focus to the search before the next key comes, which should not be lost.
fn focus_search() {
    if try_focus_search() {
        return;
    }
    spawn_local(async {
        // A sidebar that was out of sight is shown by then, or in the next frame.
        tick().await;
        if !try_focus_search() {
            request_animation_frame(|| {
                try_focus_search();
            });
        }
    });
}

fn try_focus_search() -> bool {
    let field = document().get_element_by_id(SEARCH_ID);
    let Some(field) = field.and_then(|field| field.dyn_into::<HtmlInputElement>().ok()) else { return false };
    let _ = field.focus();
    field.select();
    document().active_element().is_some_and(|focused| focused.id() == SEARCH_ID)
}

fn use_opened(navigation: Navigation, became: StoredValue<Option<(u32, Uuid)>>) -> Memo<Opened> {
    Memo::new(move |previous: Option<&Opened>| {
        let address = navigation.get();
        let Some(previous) = previous else { return Opened { number: 0, address } };
        let became = became.get_value().filter(|(number, _)| *number == previous.number);
        let shown = became.map_or(previous.address, |(_, uuid)| Address::Conversation(uuid));
        if address == shown { *previous } else { Opened { number: previous.number.wrapping_add(1), address } }
    })
}

/// Marks the document when the browser has taken over and hears what is done. For tests; a page works without it.
fn mark_alive() {
    Effect::new(move || {
        if let Some(body) = document().body() {
            let _ = body.set_attribute("data-alive", "");
        }
    });
}
