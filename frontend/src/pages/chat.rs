//! The page of a chat: the list of conversations beside the one that is open. It serves the new chat and every
//! conversation; which one is open follows from the address.

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    components::Outlet,
    hooks::{use_location, use_navigate},
};
use serde::{Deserialize, Serialize};
use tallybook_protocol::{Conversation, ConversationSummary, ModelInfo, Page};
use uuid::Uuid;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::{
    components::{
        chat_pane::ChatPane,
        commands::on_command,
        header::Header,
        help::{self, Help, HelpSheet},
        nothing_here::{LoadFailed, NothingHere},
        sidebar::{SEARCH_ID, Sidebar},
        tab_title::TabTitle,
    },
    conversation_list::ConversationList,
    data::{PageError, Source},
    keys::Command,
    language::use_language,
    session::{Listeners, Session},
};

/// What an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    NewChat,
    Conversation(Uuid),
    /// A conversation's address whose name cannot be one.
    Malformed,
}

impl Address {
    fn parse(pathname: &str) -> Self {
        match pathname.trim_matches('/').strip_prefix("c/") {
            None => Self::NewChat,
            Some(name) => Uuid::try_parse(name).map_or(Self::Malformed, Self::Conversation),
        }
    }

    fn uuid(self) -> Option<Uuid> {
        match self {
            Self::Conversation(uuid) => Some(uuid),
            Self::NewChat | Self::Malformed => None,
        }
    }
}

/// The pane that is open. A new number means that it has to be built anew, which a new chat that became a conversation
/// need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opened {
    number: u32,
    address: Address,
}

/// A pane with its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pane {
    number: u32,
    content: PaneContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PaneContent {
    NewChat,
    Conversation(Box<Conversation>),
    Missing,
    Failed(String),
}

/// The chat page.
#[component]
pub(crate) fn ChatPage() -> impl IntoView {
    let text = use_language();
    let source = Source::from_context();
    let model: Option<ModelInfo> = SharedValue::new(|| source.model()).into_inner();
    let address = use_address();
    // The conversation that the new chat in pane so-and-so became.
    let became = StoredValue::new(None::<(u32, Uuid)>);
    let opened = use_opened(address, became);

    let leave = use_navigate();
    let deleted = Callback::new(move |uuid| {
        if address.get_untracked().uuid() == Some(uuid) {
            leave("/", NavigateOptions { replace: true, ..Default::default() });
        }
    });
    let open = StoredValue::new(None::<Session>);
    let turned = Callback::new(move |heard| {
        if let Some(session) = open.get_value() {
            session.hear(heard);
        }
    });
    let list = ConversationList::new(use_list(source.clone()), deleted, turned);
    let pane_source = source.clone();
    let pane = Resource::new(move || opened.get(), move |opened| load(pane_source.clone(), opened));

    let navigate = use_navigate();
    let listeners = Listeners {
        created: Callback::new(move |uuid| {
            became.set_value(Some((opened.get_untracked().number, uuid)));
            navigate(&format!("/c/{uuid}"), NavigateOptions { replace: true, ..Default::default() });
        }),
        changed: Callback::new(move |()| list.refresh()),
        open,
    };
    let sidebar_open = RwSignal::new(false);
    let current = Signal::derive(move || address.get().uuid());
    // A place on a small screen was chosen: what was chosen matters now.
    Effect::new(move || {
        address.track();
        sidebar_open.set(false);
    });
    let sheet = HelpSheet::new();
    let navigate = use_navigate();
    on_command(move |command| {
        match command {
            Command::Search => {
                sidebar_open.set(true);
                request_animation_frame(focus_search);
            }
            Command::NewChat => navigate("/", NavigateOptions::default()),
            Command::Help => help::toggle(sheet),
            Command::Stop | Command::PreviousCall | Command::NextCall | Command::ToggleCalls => return false,
        }
        true
    });
    let hydrated = use_hydrated();
    let around =
        Around { model: model.clone(), source, listeners, hydrated, listed_title: use_listed_title(list, current) };
    let around = StoredValue::new(around);

    view! {
        <a class="skip-link" href="#main">{text.skip_sidebar()}</a>
        <div class="page" class:sidebar-open=sidebar_open>
            <Sidebar list current open=sidebar_open sheet hydrated />
            <main class="main" id="main" tabindex="-1">
                <Header model current sidebar_open />
                <Transition>
                    <For
                        each=move || pane.get()
                        key=|pane| pane.number
                        children=move |pane| view! { <PaneView pane around=around.get_value() /> }
                    />
                </Transition>
            </main>
        </div>
        <Help sheet />
        // Shows nothing, but the router takes a navigation for unfinished until this place has been filled.
        <Outlet />
    }
    .into_any()
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
    model: Option<ModelInfo>,
    source: Source,
    listeners: Listeners,
    hydrated: ReadSignal<bool>,
    /// The open conversation's title as the list has it, which is newer than the one it was opened with.
    listed_title: ReadSignal<Option<String>>,
}

#[component]
fn PaneView(pane: Pane, around: Around) -> impl IntoView {
    let text = use_language();
    let Around { model, source, listeners, hydrated, listed_title } = around;
    let (conversation, problem) = match pane.content {
        PaneContent::NewChat => (None, None),
        PaneContent::Conversation(conversation) => (Some(*conversation), None),
        PaneContent::Missing => {
            source.set_status(404);
            let view = view! { <NothingHere message=text.not_found_conversation() /> }.into_any();
            (None, Some((text.not_found_title(), view)))
        }
        PaneContent::Failed(message) => {
            source.set_status(503);
            (None, Some((text.failed_title(), view! { <LoadFailed message /> }.into_any())))
        }
    };
    if let Some((title, view)) = problem {
        return view! {
            <TabTitle name=Some(title.to_owned()) />
            {view}
        }
        .into_any();
    }
    let title = conversation.as_ref().map(|conversation| conversation.summary.title.clone());
    let name = Signal::derive(move || listed_title.get().or_else(|| title.clone()));
    view! {
        <TabTitle name />
        <ChatPane conversation model name listeners hydrated />
    }
    .into_any()
}

/// The newest conversations. A list that was there before a failed attempt to renew it stays.
fn use_list(source: Source) -> Resource<Result<Page<ConversationSummary>, PageError>> {
    let newest = StoredValue::new(None);
    let list = Resource::new(
        || (),
        move |()| {
            let loading = source.list_conversations();
            async move {
                match loading.await {
                    Ok(page) => Ok(page),
                    Err(error) => newest.try_get_value().flatten().ok_or(error),
                }
            }
        },
    );
    Effect::new(move || {
        if let Some(Ok(page)) = list.get() {
            newest.set_value(Some(page));
        }
    });
    list
}

fn use_listed_title(list: ConversationList, current: Signal<Option<Uuid>>) -> ReadSignal<Option<String>> {
    let (title, set_title) = signal(None);
    // In an effect: the page as the server made it has the title that it was opened with.
    Effect::new(move || set_title.set(current.get().and_then(|uuid| list.title_of(uuid))));
    title
}

fn use_address() -> Memo<Address> {
    let pathname = use_location().pathname;
    Memo::new(move |_| pathname.with(|pathname| Address::parse(pathname)))
}

fn use_opened(address: Memo<Address>, became: StoredValue<Option<(u32, Uuid)>>) -> Memo<Opened> {
    Memo::new(move |previous: Option<&Opened>| {
        let address = address.get();
        let Some(previous) = previous else { return Opened { number: 0, address } };
        let became = became.get_value().filter(|(number, _)| *number == previous.number);
        let shown = became.map_or(previous.address, |(_, uuid)| Address::Conversation(uuid));
        if address == shown { *previous } else { Opened { number: previous.number.wrapping_add(1), address } }
    })
}

/// Becomes true when the browser has taken over, and marks the document so.
fn use_hydrated() -> ReadSignal<bool> {
    let (hydrated, set_hydrated) = signal(false);
    Effect::new(move || {
        if let Some(body) = document().body() {
            // The mark is for tests and styles; a page without it works all the same.
            let _ = body.set_attribute("data-hydrated", "");
        }
        set_hydrated.set(true);
    });
    hydrated
}

async fn load(source: Source, opened: Opened) -> Pane {
    let content = match opened.address {
        Address::NewChat => PaneContent::NewChat,
        Address::Malformed => PaneContent::Missing,
        Address::Conversation(uuid) => match source.find_conversation(uuid).await {
            Ok(Some(conversation)) => PaneContent::Conversation(Box::new(conversation)),
            Ok(None) => PaneContent::Missing,
            Err(error) => PaneContent::Failed(error.message),
        },
    };
    Pane { number: opened.number, content }
}

#[cfg(test)]
mod tests {
    use super::{Address, Uuid};

    #[test]
    fn addresses() {
        let known = Address::Conversation(Uuid::nil());
        let nil = Uuid::nil();
        for (path, address) in [
            ("/".to_owned(), Address::NewChat),
            (String::new(), Address::NewChat),
            (format!("/c/{nil}"), known),
            (format!("/c/{nil}/"), known),
            ("/c/seven".to_owned(), Address::Malformed),
            (format!("/c/{nil}/more"), Address::Malformed),
        ] {
            assert_eq!(Address::parse(&path), address, "{path}");
        }
    }
}
