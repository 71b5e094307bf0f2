//! Opens the dialog that connects or edits a model, and reports its result to the rest of the page.

use leptos::prelude::*;
use tallybook_protocol::ConfiguredModel;

/// The model that the dialog shows: a stored one as JSON, or an empty text for a new one. The main module of the page
/// then needs no code for the type of stored models.
pub(crate) type Opened = String;

/// The dialog, and its last result. Provided as a context by the page.
#[derive(Clone, Copy)]
pub(crate) struct Connecting {
    /// `true` if the user may connect models.
    pub(crate) is_allowed: bool,
    /// The opened dialog.
    pub(crate) opened: RwSignal<Option<Opened>>,
    /// The last result, for the user.
    pub(crate) outcome: RwSignal<Option<String>>,
    /// The model that was stored or removed last. Lists of models are loaded again after that.
    pub(crate) changed: RwSignal<Option<String>>,
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

    /// Opens the dialog for a new model.
    pub(crate) fn open(self) {
        self.opened.set(Some(Opened::new()));
    }

    /// Opens the dialog for a stored model.
    pub(crate) fn edit(self, stored: &ConfiguredModel) {
        self.opened.set(serde_json::to_string(stored).ok());
    }

    /// Reports a change of a model to the user and to the lists of models.
    pub(crate) fn report(self, name: String, words: String) {
        self.outcome.set(Some(words));
        self.changed.set(Some(name));
    }
}
