//! Command handlers of the command palette.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{Role, UserRole};
use uuid::Uuid;

use super::drawer::{Drawer, is_narrow};
use crate::{
    address::{Address, Navigation},
    api, browser,
    components::{
        dialogs::help::{self, HelpSheet},
        parts::{ids::TOOLS_BUTTON_ID, typing::begin_to_write_after_press},
        sidebar::footer::{choose_language, choose_theme},
    },
    conversation_list::ConversationList,
    palette::{OpenConversation, PaletteAction, PaletteCommand, ShownView, Situation},
    session::{Phase, Session},
    setup::{Connecting, EntryKind},
    transcript::Transcript,
};

/// The parts of the page that commands use.
#[derive(Clone, Copy)]
pub(crate) struct CommandContext {
    pub(crate) list: ConversationList,
    pub(crate) navigation: Navigation,
    /// The session of the open pane.
    pub(crate) session: RwSignal<Option<Session>>,
    /// The conversation whose title is being edited in the header.
    pub(crate) renaming: RwSignal<Option<Uuid>>,
    pub(crate) drawer: Drawer,
    pub(crate) sheet: HelpSheet,
    pub(crate) connecting: Connecting,
}

impl CommandContext {
    /// Returns the state of the page, which decides what commands are available.
    pub(crate) fn situation(self) -> Situation {
        untrack(move || {
            let uuid = self.navigation.get_untracked().uuid();
            let open = uuid.filter(|uuid| !self.list.is_leaving(*uuid)).and_then(|uuid| self.list.find(uuid));
            let preferences = browser::preferences();
            Situation {
                open: open.map(|item| OpenConversation {
                    uuid: item.uuid,
                    pinned: item.pinned,
                    archived: item.archived,
                }),
                is_busy: self.session().is_some_and(|session| session.phase.get_untracked() != Phase::Idle),
                // Whether there is one is known once the conversation is loaded, which the key for this list begins.
                has_answer: self.last_answer().is_some() || self.session().is_some_and(Session::is_loading),
                has_conversations: !self.list.items().is_empty(),
                shown: match self.navigation.get_untracked() {
                    Address::Settings => ShownView::Settings,
                    Address::NewChat | Address::Conversation(_) | Address::Malformed => ShownView::Chat,
                },
                theme: preferences.theme,
                language: preferences.language,
                role: if self.connecting.is_allowed { UserRole::Admin } else { UserRole::User },
            }
        })
    }

    /// Returns `true` if the address is that of a conversation.
    pub(crate) fn is_in_conversation(self) -> bool {
        self.navigation.get_untracked().uuid().is_some()
    }

    /// Opens the chosen conversation, or carries out the chosen command.
    pub(crate) fn run(self, action: PaletteAction) {
        match action {
            PaletteAction::Conversation(uuid) => self.open(Address::Conversation(uuid)),
            PaletteAction::PaletteCommand(command) => self.carry_out(command),
        }
    }

    /// Opens the search in the sidebar.
    pub(crate) fn search(self) {
        self.drawer.search();
    }

    fn carry_out(self, command: PaletteCommand) {
        match command {
            PaletteCommand::Stop => {
                if let Some(session) = self.session() {
                    session.stop();
                }
            }
            PaletteCommand::CopyAnswer => {
                if let Some(answer) = self.last_answer() {
                    spawn_local(async move {
                        // The browser may refuse. The answer has a button for this, too.
                        let _ = browser::copy(&answer).await;
                    });
                }
            }
            PaletteCommand::NewChat => self.open(Address::NewChat),
            PaletteCommand::Rename(uuid) => self.renaming.set(Some(uuid)),
            PaletteCommand::Pin(uuid, pinned) => self.list.pin(&[uuid], pinned),
            PaletteCommand::Archive(uuid, archived) => self.list.archive(&[uuid], archived),
            PaletteCommand::Export(uuid, format) => browser::download(&api::export_url(uuid, format)),
            PaletteCommand::Delete(uuid) => self.list.delete(&[uuid]),
            PaletteCommand::Search => self.search(),
            PaletteCommand::Select => {
                self.drawer.show();
                self.list.begin_selection(None);
            }
            PaletteCommand::OpenArchive => {
                self.drawer.show();
                self.list.show_archive(true);
            }
            PaletteCommand::ToggleSidebar => browser::press(if is_narrow() { "open-sidebar" } else { "fold-sidebar" }),
            PaletteCommand::Tools => browser::press(TOOLS_BUTTON_ID),
            PaletteCommand::Settings => self.navigation.go(Address::Settings),
            PaletteCommand::ConnectModel => self.connecting.open(EntryKind::Model),
            PaletteCommand::AddToolServer => self.connecting.open(EntryKind::ToolServer),
            PaletteCommand::Theme(theme) => choose_theme(theme),
            PaletteCommand::Language(language) => choose_language(language),
            PaletteCommand::Help => help::toggle(self.sheet),
        }
    }

    /// Goes to a chat and focuses the message field.
    fn open(self, address: Address) {
        self.navigation.go(address);
        begin_to_write_after_press();
    }

    fn session(self) -> Option<Session> {
        self.session.try_get_untracked().flatten()
    }

    fn last_answer(self) -> Option<String> {
        let entries = |transcript: &Transcript| {
            let answer = transcript.entries().iter().rev().find(|entry| entry.role == Role::Assistant)?;
            (!answer.text.is_empty()).then(|| answer.answer().to_owned())
        };
        self.session()?.transcript.try_with_untracked(entries).flatten()
    }
}
