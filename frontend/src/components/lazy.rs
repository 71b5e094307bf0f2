//! Lazy parts of the page: messages, and parts that few visits use. Each kind has a WASM chunk of its own. The chunk
//! with messages loads when the user starts to write, the other one when one of its parts is used. A part appears once
//! its chunk has loaded. If a chunk fails to load, the page says so and retries.
//!
//! The main module has everything that a new chat shows at once, or needs for the next key press.

use futures_channel::oneshot;
use futures_util::{
    FutureExt as _,
    future::{LocalBoxFuture, join, join3},
};
use leptos::{
    prelude::*,
    task::spawn_local,
    wasm_split::{SplitLoaderError, wasm_split},
};
use tallybook_protocol::{Conversation, MessageId, ToolCallId};
use uuid::Uuid;

#[cfg(feature = "browser")]
use crate::address::Address;
use crate::{
    address::Navigation,
    browser,
    chunk::{Chunk, Load, MessagesChunk},
    components::{
        chat_pane::{approval_buttons, budget_notice::BudgetNotice, early_find::FindState, find_bar::FindBar},
        composer::{attachments::Attachments, queue::Queue},
        dialogs::{
            file_viewer::{FileView, FileViewer, ViewedFiles},
            help::{Help, HelpSheet},
            playback_sheet::PlaybackSheet,
            share_sheet::{ShareSheet, Sharing},
            usage_sheet::{ShownUsage, UsageOf, UsageSheet},
        },
        header::tools_panel,
        message::{list::Messages, shown::Played},
        palette::{Palette, options::PaletteOptions},
        parts::title_field::TitleField,
        settings::{AccountNotice, SettingsPage},
        setup_dialog::SetupDialog,
        sidebar::{
            search_results::SearchResults,
            selection_bar::SelectionBar,
            undo_notes::{ListTrouble, UndoNotes},
        },
    },
    conversation_list::ConversationList,
    goal::Goal,
    pages::command_context::CommandContext,
    reactive::effect,
    reading,
    scroll::THREAD_ID,
    session::{FilesOf, Session},
    setup::{Connecting, OpenedEntry},
    start::{Content, SentContent},
};

/// A part, with its data.
pub(crate) enum Part {
    OfMessages(MessagePart),
    Lazy(LazyPart),
}

/// A part that only a conversation has.
pub(crate) enum MessagePart {
    All { session: Session, ids: Memo<Vec<MessageId>> },
    ApprovalButtons { session: Session, waiting: Memo<Vec<ToolCallId>>, count: Memo<usize> },
    Queue(Session),
}

impl From<MessagePart> for Part {
    fn from(part: MessagePart) -> Self {
        Self::OfMessages(part)
    }
}

/// A part that few visits use.
pub(crate) enum LazyPart {
    AccountNotice(Navigation),
    Attachments { session: Session, of: FilesOf, pasted: Option<RwSignal<Option<String>>> },
    BudgetNotice(Session),
    FileViewer { viewed: ViewedFiles, shown: FileView },
    FindBar { conversation: Uuid, session: Session, find: FindState },
    Help(HelpSheet),
    ListTrouble { words: String, list: ConversationList },
    PaletteOptions { palette: Palette, context: CommandContext },
    Playback { conversation: Uuid, message: MessageId, played: Played },
    SearchResults { list: ConversationList, go: Callback<Goal> },
    SelectionBar(ConversationList),
    Settings { sheet: HelpSheet, list: ConversationList },
    SetupDialog { opened: OpenedEntry, connecting: Connecting },
    Share { conversation: Uuid, sharing: Sharing },
    TitleField { title: String, done: Callback<Option<String>> },
    Tools(tools_panel::Panel),
    UndoNotes(ConversationList),
    Usage { of: UsageOf, shown: ShownUsage },
}

impl From<LazyPart> for Part {
    fn from(part: LazyPart) -> Self {
        Self::Lazy(part)
    }
}

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, preload(load_messages), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
fn draw_messages(part: MessagePart) -> Result<AnyView, SplitLoaderError> {
    Ok(match part {
        MessagePart::All { session, ids } => view! { <Messages session ids /> }.into_any(),
        MessagePart::ApprovalButtons { session, waiting, count } => approval_buttons::buttons(session, waiting, count),
        MessagePart::Queue(session) => view! { <Queue session /> }.into_any(),
    })
}

#[wasm_split(others, wasm_split_path = ::leptos::wasm_split, preload(load_others), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
fn draw_lazy(part: LazyPart) -> Result<AnyView, SplitLoaderError> {
    Ok(match part {
        LazyPart::AccountNotice(navigation) => view! { <AccountNotice navigation /> }.into_any(),
        LazyPart::Attachments { session, of, pasted } => view! { <Attachments session of pasted /> }.into_any(),
        LazyPart::BudgetNotice(session) => view! { <BudgetNotice session /> }.into_any(),
        LazyPart::FileViewer { viewed, shown } => view! { <FileViewer viewed shown /> }.into_any(),
        LazyPart::FindBar { conversation, session, find } => view! { <FindBar conversation session find /> }.into_any(),
        LazyPart::Help(sheet) => view! { <Help sheet /> }.into_any(),
        LazyPart::ListTrouble { words, list } => view! { <ListTrouble words list /> }.into_any(),
        LazyPart::PaletteOptions { palette, context } => view! { <PaletteOptions palette context /> }.into_any(),
        LazyPart::Playback { conversation, message, played } => {
            view! { <PlaybackSheet conversation message played /> }.into_any()
        }
        LazyPart::SearchResults { list, go } => view! { <SearchResults list go /> }.into_any(),
        LazyPart::SelectionBar(list) => view! { <SelectionBar list /> }.into_any(),
        LazyPart::Settings { sheet, list } => view! { <SettingsPage sheet list /> }.into_any(),
        LazyPart::SetupDialog { opened, connecting } => view! { <SetupDialog opened connecting /> }.into_any(),
        LazyPart::Share { conversation, sharing } => view! { <ShareSheet conversation sharing /> }.into_any(),
        LazyPart::Tools(panel) => tools_panel::content(panel),
        LazyPart::TitleField { title, done } => view! { <TitleField title done /> }.into_any(),
        LazyPart::UndoNotes(list) => view! { <UndoNotes list /> }.into_any(),
        LazyPart::Usage { of, shown } => view! { <UsageSheet of shown /> }.into_any(),
    })
}

/// The chunks, and whether they are loaded.
#[derive(Clone, Copy)]
pub(crate) struct LazyChunks {
    messages: Chunk,
    others: Chunk,
}

impl LazyChunks {
    /// Creates the state for a page that starts with `content`.
    pub(crate) fn new(content: &Content) -> Self {
        Self {
            messages: Chunk::new(MESSAGES, matches!(content, Content::Conversation(SentContent::Read(_)))),
            others: Chunk::new(OTHERS, matches!(content, Content::Settings)),
        }
    }

    /// Provides the chunks to the page. Loads that of messages when the user starts to write or uses a message.
    pub(crate) fn provide(self) {
        provide_context(self);
        provide_context(MessagesChunk(self.messages));
        let messages = self.messages;
        effect(move || browser::at_first_key(move || messages.fetch()));
        messages.want_when_used(&[THREAD_ID], &["mousedown", "click", "focusin"]);
    }

    /// Parses the conversation in the document once the code for that has loaded. The server-rendered messages are
    /// used from then on. The receiver ends without a value if the conversation cannot be parsed.
    pub(crate) fn read_conversation(self, json: String) -> oneshot::Receiver<Box<Conversation>> {
        let (sender, receiver) = oneshot::channel();
        let unread = StoredValue::new(Some((json, sender)));
        effect(move || {
            if !self.messages.is_here.get() {
                return;
            }
            let Some((json, sender)) = unread.try_update_value(Option::take).flatten() else { return };
            spawn_local(async move {
                browser::next_task().await;
                let read = reading::conversation(json).await;
                browser::next_task().await;
                if let Ok(Some(conversation)) = read {
                    let _ = sender.send(conversation);
                }
            });
        });
        receiver
    }

    fn chunk_of(self, part: &Part) -> Chunk {
        match part {
            Part::OfMessages(_) => self.messages,
            Part::Lazy(_) => self.others,
        }
    }
}

/// Returns `true` if messages can be rendered. Until then, nothing can be scrolled. Tracked.
pub(crate) fn has_messages() -> bool {
    use_context().is_none_or(|MessagesChunk(chunk)| chunk.is_here.get())
}

const MESSAGES: Load = || {
    let loaded = join3(load_messages(), reading::load(), Session::load());
    let loaded = loaded.map(|(drawing, reading, handling)| drawing.is_ok() && reading.is_ok() && handling);
    with_style(loaded.boxed_local()).boxed_local()
};

const OTHERS: Load = || with_style(load_others().map(|loaded| loaded.is_ok()).boxed_local()).boxed_local();

async fn with_style(file: LocalBoxFuture<'static, bool>) -> bool {
    let (is_here, is_styled) = join(file, browser::load_style()).await;
    is_here && is_styled
}

/// Loads the code that the page at `address` needs to be interactive. The server-rendered page stays meanwhile.
#[cfg(feature = "browser")]
pub(crate) async fn load_first(address: Address) -> bool {
    match address {
        Address::Settings => crate::chunk::load(OTHERS, || true).await,
        Address::NewChat | Address::Conversation(_) | Address::Malformed => true,
    }
}

/// Renders a part as long as it has data.
pub(crate) fn lazy<P: Into<Part>>(part: impl Fn() -> Option<P> + Send + 'static) -> AnyView {
    draw_when_here(Box::new(move || part().map(Into::into)))
}

fn draw_when_here(part: Box<dyn Fn() -> Option<Part> + Send>) -> AnyView {
    let chunks = use_context::<LazyChunks>();
    let content = move || {
        let part = part()?;
        // The server has all code.
        if browser::IS_HERE {
            let chunk = chunks?.chunk_of(&part);
            if !chunk.is_here.get() {
                chunk.want();
                return None;
            }
        }
        match part {
            Part::OfMessages(part) => draw_messages(part).now_or_never()?.ok(),
            Part::Lazy(part) => draw_lazy(part).now_or_never()?.ok(),
        }
    };
    content.into_any()
}
