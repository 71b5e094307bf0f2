//! Opens the dialog that adds or edits a model or tool server, and reports its result to the rest of the page.

use leptos::prelude::*;

use super::{EntryKind, SetupEntry};

/// The content of the dialog: a kind, and an entry as JSON, or an empty text for a new entry. The main module of the
/// page then needs no code for the type of entries.
pub(crate) type OpenedEntry = (EntryKind, String);

/// The dialog, and its last result. Provided as a context by the page.
#[derive(Clone, Copy)]
pub(crate) struct Connecting {
    /// `true` if the user may add models and tool servers.
    pub(crate) is_allowed: bool,
    /// The opened dialog.
    pub(crate) opened: RwSignal<Option<OpenedEntry>>,
    /// The last result, for the user.
    pub(crate) outcome: RwSignal<Option<String>>,
    /// The entry that was stored or removed last. Lists of entries are loaded again after that.
    pub(crate) changed: RwSignal<Option<(EntryKind, String)>>,
}

impl Connecting {
    /// Creates the state with a closed dialog, and provides it to the page.
    pub(crate) fn provide(is_allowed: bool) -> Self {
        let connecting = Self {
            is_allowed,
            opened: RwSignal::new(None),
            outcome: RwSignal::new(None),
            changed: RwSignal::new(None),
        };
        provide_context(connecting);
        connecting
    }

    /// Opens the dialog for a new entry.
    pub(crate) fn open(self, kind: EntryKind) {
        self.opened.set(Some((kind, String::new())));
    }

    /// Opens the dialog for a stored entry.
    pub(crate) fn edit(self, stored: &SetupEntry) {
        self.opened.set(serde_json::to_string(stored).ok().map(|json| (stored.kind, json)));
    }

    /// Reports a change to the user, and to the lists of entries.
    pub(crate) fn report(self, kind: EntryKind, name: String, words: String) {
        self.outcome.set(Some(words));
        self.changed.set(Some((kind, name)));
    }
}
