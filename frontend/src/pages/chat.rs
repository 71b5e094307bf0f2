//! The page of a chat: the list of conversations beside the one that is open. It serves the new chat and every
//! conversation; which one is open follows from the address.

use leptos::{prelude::*, task::spawn_local};
use uuid::Uuid;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::{
    address::{Address, Navigation},
    browser,
    components::{
        chat_pane::ChatPane,
        commands::on_command,
        header::{ConversationActions, Header},
        help::{self, Help, HelpSheet},
        nothing_here::{LoadFailed, NothingHere},
        outdated::Outdated,
        sidebar::{SEARCH_ID, Sidebar},
    },
    conversation_list::ConversationList,
    keys::Command,
    language::use_language,
    session::{Listeners, Session},
    start::{Content, Start},
};

/// The pane that is open. A new number means that it has to be built anew, which a new chat that became a conversation
/// need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opened {
    number: u32,
    address: Address,
}

/// A pane with its data.
#[derive(Clone)]
struct Pane {
    number: u32,
    content: Content,
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

    let deleted = Callback::new(move |uuid| {
        if navigation.get_untracked().uuid() == Some(uuid) {
            navigation.replace(Address::NewChat);
        }
    });
    let open = StoredValue::new(None::<Session>);
    let turned = Callback::new(move |heard| {
        if let Some(session) = open.get_value() {
            session.hear(heard);
        }
    });
    let sidebar_open = RwSignal::new(false);
    let list = ConversationList::new(list, folder, deleted, turned);
    let pane = use_pane(opened, content);
    // The list has a newer title than the one that a conversation was opened with.
    let title = Signal::derive(move || {
        let uuid = current_uuid(navigation)?;
        let opened_with = move || {
            pane.with(|pane| match &pane.content {
                Content::Conversation(open) if open.summary.uuid == uuid => Some(open.summary.title.clone()),
                _ => None,
            })
        };
        list.title_of(uuid).or_else(opened_with)
    });
    let actions = ConversationActions {
        rename: Callback::new(move |(uuid, old, new)| list.rename(uuid, old, new)),
        delete: Callback::new(move |uuid| {
            list.delete(uuid);
            // The way to take it back is in the list.
            sidebar_open.set(true);
        }),
    };
    let listeners = Listeners {
        created: Callback::new(move |uuid| {
            let number = pane.with_untracked(|pane| pane.number);
            // Another one may have been opened meanwhile, and is on its way.
            if opened.get_untracked().number == number {
                became.set_value(Some((number, uuid)));
                navigation.replace(Address::Conversation(uuid));
            }
        }),
        changed: Callback::new(move |()| list.refresh()),
        open,
    };
    let current = Signal::derive(move || current_uuid(navigation));
    // A place on a small screen was chosen: what was chosen matters now.
    Effect::new(move || {
        navigation.get();
        sidebar_open.set(false);
    });
    let sheet = HelpSheet::new();
    on_command(move |command| {
        match command {
            Command::Search => {
                sidebar_open.set(true);
                request_animation_frame(focus_search);
            }
            Command::NewChat => navigation.go(Address::NewChat),
            Command::Help => help::toggle(sheet),
            Command::Stop | Command::PreviousCall | Command::NextCall | Command::ToggleCalls => return false,
        }
        true
    });
    mark_alive();
    let around = Around { is_demo: model.provider == "demo", listeners, list, current };
    let around = StoredValue::new(around);

    view! {
        <a class="skip-link" href="#main">{text.skip_sidebar()}</a>
        <div class="page" class:sidebar-open=sidebar_open>
            <Sidebar list current open=sidebar_open sheet />
            <main class="main" id="main" tabindex="-1">
                <Header model current title actions sidebar_open />
                <Outdated list />
                // Each pane is built anew: what was said long ago in one is no news in another.
                <For
                    each=move || [pane.get()]
                    key=|pane| pane.number
                    children=move |pane| view! { <PaneView content=pane.content around=around.get_value() /> }
                />
            </main>
        </div>
        <Help sheet />
    }
    .into_any()
}

fn current_uuid(navigation: Navigation) -> Option<Uuid> {
    navigation.get().uuid()
}

fn focus_search() {
    if let Some(field) =
        document().get_element_by_id(SEARCH_ID).and_then(|field| field.dyn_into::<HtmlInputElement>().ok())
    {
        let _ = field.focus();
        field.select();
    }
}

/// What the page has for each pane.
#[derive(Clone)]
struct Around {
    /// Whether the built-in demo model answers.
    is_demo: bool,
    listeners: Listeners,
    list: ConversationList,
    /// The conversation that is open.
    current: Signal<Option<Uuid>>,
}

#[component]
fn PaneView(content: Content, around: Around) -> impl IntoView {
    let text = use_language();
    let Around { is_demo, listeners, list, current } = around;
    let title = content.title(text);
    let conversation = match content {
        Content::NewChat => None,
        Content::Conversation(conversation) => Some(*conversation),
        Content::Missing => {
            browser::name_tab(&title);
            return view! { <NothingHere message=text.not_found_conversation() /> }.into_any();
        }
        Content::Failed(message) => {
            browser::name_tab(&title);
            return view! { <LoadFailed message /> }.into_any();
        }
    };
    let opened_with = conversation.as_ref().map(|conversation| conversation.summary.title.clone());
    view! { <ChatPane conversation is_demo opened_with list current listeners /> }.into_any()
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

/// The pane that is shown: the one that was opened last, once its data is there.
fn use_pane(opened: Memo<Opened>, content: Content) -> RwSignal<Pane> {
    let text = use_language();
    let pane = RwSignal::new(Pane { number: opened.get_untracked().number, content });
    Effect::new(move || {
        let Opened { number, address } = opened.get();
        if pane.with_untracked(|pane| pane.number == number) {
            return;
        }
        spawn_local(async move {
            let content = Content::fetch(address, text).await;
            // Meanwhile another may have been opened.
            if opened.try_get_untracked().is_some_and(|opened| opened.number == number) {
                pane.set(Pane { number, content });
            }
        });
    });
    pane
}

/// Marks the document when the browser has taken over and hears what is done. For tests; a page works without it.
fn mark_alive() {
    Effect::new(move || {
        if let Some(body) = document().body() {
            let _ = body.set_attribute("data-alive", "");
        }
    });
}
