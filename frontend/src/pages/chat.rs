//! The chat page: the list of conversations, and the open conversation, new chat, or settings. The address decides
//! which.

use leptos::{
    html,
    nonce::use_nonce,
    prelude::*,
    tachys::html::{class::class, property::prop},
};
use tallybook_protocol::{ConversationSummary, Rights};
use uuid::Uuid;

use crate::{
    address::{Address, Navigation},
    browser,
    chunk::Chunk,
    components::{
        chat_pane::{ChatPane, budget_notice::MayHaveBudgets, early_find::FindState},
        dialogs::help::{self, HelpSheet},
        frame,
        header::HeaderProps,
        lazy::{LazyChunks, LazyPart, lazy},
        palette::{Palette, PaletteDialog},
        parts::{
            commands::on_command,
            each::Each,
            ids::{MAIN_ID, PAGE_ID},
            outdated::Outdated,
            own_element::Attached,
            signed_out::SignedOut,
            switches::Switches,
            typing::{begin_to_write, begin_to_write_after_press},
        },
        sidebar::{SidebarProps, footer::UserName, selection_bar},
    },
    conversation_list::ConversationList,
    feed::Feed,
    i18n::page_title,
    keys::Command,
    language::use_language,
    models::Models,
    mount_schedule::scheduled,
    new_chat::NewChatInfo,
    notification,
    outbox::Outbox,
    pages::{
        command_context::CommandContext,
        drawer::{Drawer, lies_over_page},
    },
    reactive::{effect, memo},
    session::{InitialConversation, Place, Session, SessionCallbacks},
    setup::Connecting,
    start::{Content, SentContent, Start},
    tools::Tools,
};

/// Script after the sidebar that makes the browser lay it out while the rest of the document still arrives. Laying out
/// everything at once would be one long task.
const LAYOUT_FIRST: &str = "document.body.offsetHeight;";

/// The open pane. A new number replaces the pane. A new chat that becomes a conversation keeps its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opened {
    number: u32,
    address: Address,
}

fn summary_of(content: &Content) -> Option<ConversationSummary> {
    match content {
        Content::Conversation(opened) => Some(opened.summary().clone()),
        Content::NewChat | Content::Settings | Content::Missing | Content::Failed(_) => None,
    }
}

/// The chat page.
#[component]
pub(crate) fn ChatPage(start: Start) -> impl IntoView {
    let text = use_language();
    let Start { address, folder, list, content, models, new_chat_models, offer, .. } = start;
    let Start { user_name, is_admin, rights, is_account_changed, may_have_budgets, .. } = start;
    let tools = Tools::new(offer.tools.len() + offer.more);
    provide_contexts(tools, offer, UserName(user_name), rights, MayHaveBudgets(may_have_budgets));
    let later_files = LazyChunks::new(&content);
    later_files.provide();
    let navigation = Navigation::new(address, after_link);
    // The conversation that the new chat in the pane with this number became.
    let became = StoredValue::new(None::<(u32, Uuid)>);
    let opened = use_opened(navigation, became);

    let summary = summary_of(&content);
    let feed = Feed::new(folder);
    let models = Models::new(models, summary.as_ref(), new_chat_models, feed);
    provide_context(models);
    let connecting = Connecting::provide(is_admin);
    let list = ConversationList::new(list, summary, feed);
    list.follow(feed);
    let outbox = Outbox::new(feed);
    let current = Signal::derive(move || navigation.get().uuid());
    let title = use_title(current, list);
    notification::follow_left_answers(feed, list, current);
    let renaming = RwSignal::new(None);
    let session = RwSignal::new(None::<Session>);
    // The content of the document is for the first pane.
    let content = StoredValue::new(Some(content));
    let goal = Signal::derive(move || navigation.goal());
    let is_chat = memo(move |_| navigation.get() != Address::Settings);
    let drawer = Drawer::new();
    let go = Callback::new(move |goal| {
        navigation.go_to(goal);
        drawer.open.set(false);
    });
    let find = FindState::new();
    let open_find = Callback::new(move |()| find.open.set(true));
    follow_navigation(navigation, drawer, list);
    let sheet = HelpSheet::new(false);
    // Once rendered, the sheet keeps its state.
    let sheet_was_open = memo(move |was| was == Some(&true) || sheet.get());
    let palette = Palette::new();
    let command_context = CommandContext { list, navigation, session, renaming, drawer, sheet, connecting };
    hear_commands(command_context, palette);
    load_frame_at_change(frame::use_chunk(), list, renaming, move || {
        models.track();
        let (address, uuid) = (navigation.get(), current.get());
        let model = models.chosen(uuid);
        (list.has_more(), address, title.get(), drawer.open.get(), models.all(), model, tools.count(uuid))
    });

    let pane = move |number, address| {
        // The content of the document is for the first pane only, even if the user leaves that early.
        let sent = content.try_update_value(Option::take).flatten();
        let content = StoredValue::new(sent.filter(|_| number == 0));
        // The previous session ended with its pane.
        session.set(None);
        if number > 0 {
            browser::drop_stale();
        }
        if address == Address::Settings {
            return settings_view(sheet, list);
        }
        // Creating the session takes time, too, so it is a task of its own.
        scheduled(move || {
            let (place, initial) = place_of(address, content.try_update_value(Option::take).flatten(), later_files);
            outbox.release(address.uuid());
            let callbacks = session_callbacks(number, opened, became, navigation, outbox);
            let open_new_chat = callbacks.open_new_chat;
            let opened = Session::new(place, initial, feed, callbacks);
            session.set(Some(opened));
            scheduled(move || {
                view! { <ChatPane session=opened list current title feed find goal open_new_chat /> }.into_any()
            })
        })
    };
    let main = move || {
        let children = view! {
            {frame::header(move || HeaderProps {
                models, tools, session, current, title, is_chat, open_find, list, renaming, sidebar_open: drawer.open,
            })}
            <Outdated feed />
            {account_notice(is_account_changed, navigation)}
            <SignedOut feed navigation />
            // Each pane is a new component, so that notices do not appear in another conversation.
            <Each
                each=move || [opened.get()]
                key=|opened| opened.number
                children=move |Opened { number, address }| pane(number, address)
            />
        };
        let main = Attached::new("main", MAIN_ID).with(class("main")).attr("tabindex", "-1");
        main.with(prop("inert", drawer.is_modal)).containing(children)
    };

    // Rendering is a task of its own, after the state above was created.
    scheduled(move || {
        let list_and_pane = view! {
            {frame::sidebar(move || SidebarProps { list, current, open: drawer.open, sheet, go })}
            {layout_first()}
            {main()}
        };
        let columns = Attached::new("div", PAGE_ID).with(class("page")).with(class(("sidebar-open", drawer.open)));
        view! {
            <a class="skip-link" href=format!("#{MAIN_ID}") prop:inert=drawer.is_modal>{text.skip_to_content()}</a>
            {columns.containing(list_and_pane)}
            {scheduled(move || notes(list, connecting))}
            {lazy(move || sheet_was_open.get().then_some(LazyPart::Help(sheet)))}
            {scheduled(move || palette_view(palette, command_context))}
        }
        .into_any()
    })
}

/// Provides what parts of the page use without receiving it from the page.
fn provide_contexts(
    tools: Tools,
    offer: NewChatInfo,
    user_name: UserName,
    rights: Rights,
    may_have_budgets: MayHaveBudgets,
) {
    provide_context(tools);
    provide_context(offer);
    provide_context(user_name);
    provide_context(rights);
    provide_context(may_have_budgets);
    provide_context(Switches::new());
}

/// Opens the conversation of each address in the list. After a choice in the sidebar, a small screen shows what was
/// chosen.
fn follow_navigation(navigation: Navigation, drawer: Drawer, list: ConversationList) {
    effect(move || {
        let address = navigation.get();
        drawer.open.set(false);
        list.open(address.uuid());
    });
}

/// Renders the notice that an admin changed the user's account, if one did.
fn account_notice(is_account_changed: bool, navigation: Navigation) -> Option<AnyView> {
    is_account_changed.then(|| lazy(move || Some(LazyPart::AccountNotice(navigation))))
}

fn layout_first() -> AnyView {
    let script = || html::script().nonce(use_nonce()).inner_html(LAYOUT_FIRST);
    (!browser::IS_HERE).then(script).into_any()
}

/// Returns the callbacks of a pane's session. They act only while the pane is open.
fn session_callbacks(
    number: u32,
    opened: Memo<Opened>,
    became: StoredValue<Option<(u32, Uuid)>>,
    navigation: Navigation,
    outbox: Outbox,
) -> SessionCallbacks {
    let is_open = move || opened.get_untracked().number == number;
    SessionCallbacks {
        on_created: Callback::new(move |uuid| {
            if is_open() {
                became.set_value(Some((number, uuid)));
                navigation.replace(Address::Conversation(uuid));
            }
        }),
        open_new_chat: Callback::new(move |()| {
            if is_open() {
                navigation.replace(Address::NewChat);
            }
        }),
        on_left_with_queue: Callback::new(move |uuid| outbox.attend(uuid)),
    }
}

/// Moves the focus to the message field after a link was clicked. After the keyboard, the focus stays in the list if
/// the list is still visible.
fn after_link(address: Address, by_keyboard: bool) {
    if !by_keyboard || address == Address::NewChat || lies_over_page() {
        begin_to_write_after_press();
    }
}

/// Renders the settings in place of a conversation.
fn settings_view(sheet: HelpSheet, list: ConversationList) -> AnyView {
    browser::name_tab(&page_title(Some(use_language().settings())));
    lazy(move || Some(LazyPart::Settings { sheet, list }))
}

/// Handles the keyboard commands that concern the whole page.
fn hear_commands(command_context: CommandContext, palette: Palette) {
    on_command(move |command| {
        match command {
            Command::Palette => palette.open(command_context.situation()),
            Command::Search => command_context.search(),
            // No conversation is open, so there is nothing to find in it.
            Command::Find if !command_context.is_in_conversation() => command_context.search(),
            Command::Close if command_context.drawer.open.get_untracked() => command_context.drawer.open.set(false),
            Command::Close if untrack(|| command_context.list.is_selecting()) => {
                selection_bar::end(command_context.list, &untrack(|| command_context.list.chosen()));
            }
            Command::NewChat => {
                command_context.navigation.go(Address::NewChat);
                begin_to_write();
            }
            Command::Help => help::toggle(command_context.sheet),
            Command::Find
            | Command::Close
            | Command::PreviousCall
            | Command::NextCall
            | Command::ToggleCalls
            | Command::Choose(_) => return false,
        }
        true
    });
}

/// Loads the code of the frame once anything that the frame shows has changed. Until then, the server's is up to date,
/// unless the days of the list are others where the user is.
fn load_frame_at_change<T: PartialEq + Send + Sync + 'static>(
    chunk: Chunk,
    list: ConversationList,
    renaming: RwSignal<Option<Uuid>>,
    shown: impl Fn() -> T + Send + Sync + 'static,
) {
    let shown = memo(move |_| (shown(), list.grouped_items(), list.is_selecting(), renaming.get()));
    Effect::new(move |was: Option<()>| {
        shown.with(|_| ());
        if was.is_some() || !untrack(|| list.has_server_groups()) {
            chunk.want();
        }
    });
}

fn palette_view(palette: Palette, context: CommandContext) -> AnyView {
    let palette_was_open = memo(move |was| was == Some(&true) || palette.situation.with(Option::is_some));
    view! {
        <PaletteDialog palette>
            {lazy(move || palette_was_open.get().then_some(LazyPart::PaletteOptions { palette, context }))}
        </PaletteDialog>
    }
    .into_any()
}

/// Renders the notes about recent actions, with their Undo buttons, and the dialog that adds a model or tool server.
fn notes(list: ConversationList, connecting: Connecting) -> AnyView {
    let has_batches = memo(move |_| !list.batches().is_empty());
    view! {
        <div class="undo-notes">
            // A screen reader announces only changes of an element that already exists.
            <div role="status">{lazy(move || has_batches.get().then_some(LazyPart::UndoNotes(list)))}</div>
            {lazy(move || list.trouble.get().map(|words| LazyPart::ListTrouble { words, list }))}
        </div>
        <p class="visually-hidden" role="status" data-testid="setup-status">{move || connecting.outcome.get()}</p>
        {lazy(move || connecting.opened.get().map(|opened| LazyPart::SetupDialog { opened, connecting }))}
    }
    .into_any()
}

/// Returns the place of a session that loads its conversation.
fn place_at(address: Address) -> Place {
    match address {
        Address::NewChat => Place::NewChat,
        Address::Conversation(uuid) => Place::Loading(uuid),
        Address::Settings | Address::Malformed => Place::Missing,
    }
}

/// Returns the place and the conversation of a session. `content` is that of the document, if it is for this session.
fn place_of(address: Address, content: Option<Content>, later_files: LazyChunks) -> (Place, InitialConversation) {
    match (content, address) {
        (Some(Content::Conversation(SentContent::Read(conversation))), _) => {
            (Place::Open(conversation.summary.uuid), InitialConversation::Loaded(conversation))
        }
        (Some(Content::Conversation(SentContent::Unread { summary, json })), _) => {
            let conversation = later_files.read_conversation(json);
            (Place::Loading(summary.uuid), InitialConversation::Parsing { conversation, is_idle: summary.is_idle() })
        }
        (Some(Content::Failed(words)), Address::Conversation(uuid)) => {
            (Place::Failed(uuid, words), InitialConversation::NotLoaded)
        }
        (Some(Content::Missing), _) => (Place::Missing, InitialConversation::NotLoaded),
        (Some(Content::NewChat | Content::Settings | Content::Failed(_)) | None, _) => {
            (place_at(address), InitialConversation::NotLoaded)
        }
    }
}

/// Returns the title of the open conversation, once it has one. A conversation that was deleted elsewhere keeps its
/// last title.
fn use_title(current: Signal<Option<Uuid>>, list: ConversationList) -> Signal<Option<String>> {
    let titled = memo(move |before: Option<&(Option<Uuid>, Option<String>)>| {
        let uuid = current.get();
        let kept = || before.filter(|(titled, _)| *titled == uuid).and_then(|(_, title)| title.clone());
        (uuid, uuid.and_then(|uuid| list.title_of(uuid)).or_else(kept))
    });
    Signal::derive(move || titled.with(|(_, title)| title.clone()))
}

fn use_opened(navigation: Navigation, became: StoredValue<Option<(u32, Uuid)>>) -> Memo<Opened> {
    let opened = memo(move |previous: Option<&Opened>| {
        let address = navigation.get();
        let Some(previous) = previous else { return Opened { number: 0, address } };
        let became = became.get_value().filter(|(number, _)| *number == previous.number);
        let shown = became.map_or(previous.address, |(_, uuid)| Address::Conversation(uuid));
        if address == shown { *previous } else { Opened { number: previous.number.wrapping_add(1), address } }
    });
    // The first pane is determined before it is rendered, because the user may leave before that.
    opened.with_untracked(|_| ());
    opened
}
