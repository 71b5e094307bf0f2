//! Selecting several of the shown conversations. `selection` holds the selection.

use leptos::prelude::*;
use uuid::Uuid;

use super::{selection::Selection, state::ConversationList};

impl ConversationList {
    /// Returns `true` while the user selects conversations.
    pub(crate) fn is_selecting(self) -> bool {
        self.selection.with(Option::is_some)
    }

    /// Starts a selection, which contains `first` if there is one.
    pub(crate) fn begin_selection(self, first: Option<Uuid>) {
        let mut selection = Selection::default();
        if let Some(uuid) = first {
            selection.toggle(uuid);
        }
        self.selection.set(Some(selection));
    }

    /// Selects a conversation, or deselects it. With `stretch`, selects the range from the last one to this one.
    pub(crate) fn choose(self, uuid: Uuid, stretch: bool) {
        let shown = untrack(|| self.shown());
        self.selection.update(|selection| match selection {
            Some(selection) if stretch => selection.extend(uuid, &shown),
            Some(selection) => selection.toggle(uuid),
            None => {}
        });
    }

    /// Selects all shown conversations. If all of them are selected, deselects them.
    pub(crate) fn choose_all(self) {
        let shown = untrack(|| self.shown());
        self.selection.update(|selection| {
            if let Some(selection) = selection {
                selection.toggle_all(&shown);
            }
        });
    }

    /// Ends the selection. Returns `false` if there was none.
    pub(crate) fn end_selection(self) -> bool {
        let was = untrack(|| self.is_selecting());
        if was {
            self.selection.set(None);
        }
        was
    }

    /// Returns `true` if a conversation is selected.
    pub(crate) fn is_chosen(self, uuid: Uuid) -> bool {
        self.selection.with(|selection| selection.as_ref().is_some_and(|selection| selection.holds(uuid)))
    }

    /// Returns the shown conversations that are selected.
    pub(crate) fn chosen(self) -> Vec<Uuid> {
        let shown = self.shown();
        self.selection.with(|selection| selection.as_ref().map(|selection| selection.among(&shown)).unwrap_or_default())
    }

    fn shown(self) -> Vec<Uuid> {
        self.items().iter().map(|item| item.uuid).collect()
    }
}
