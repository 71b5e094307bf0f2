//! How a reader chooses several conversations of those that are shown. What is chosen is in `selection`.

use leptos::prelude::*;
use uuid::Uuid;

use super::{selection::Selection, state::ConversationList};

impl ConversationList {
    /// Whether one chooses several.
    pub(crate) fn is_selecting(self) -> bool {
        self.selection.with(Option::is_some)
    }

    /// Begins to choose several, with this one.
    pub(crate) fn begin_selection(self, first: Option<Uuid>) {
        let mut selection = Selection::default();
        if let Some(uuid) = first {
            selection.toggle(uuid);
        }
        self.selection.set(Some(selection));
    }

    /// Chooses one more, or no longer; with `stretch` all between it and the one before.
    pub(crate) fn choose(self, uuid: Uuid, stretch: bool) {
        let shown = untrack(|| self.shown());
        self.selection.update(|selection| match selection {
            Some(selection) if stretch => selection.extend(uuid, &shown),
            Some(selection) => selection.toggle(uuid),
            None => {}
        });
    }

    /// Ends choosing. False when nobody was.
    pub(crate) fn end_selection(self) -> bool {
        let was = untrack(|| self.is_selecting());
        if was {
            self.selection.set(None);
        }
        was
    }

    /// Whether this one is chosen.
    pub(crate) fn is_chosen(self, uuid: Uuid) -> bool {
        self.selection.with(|selection| selection.as_ref().is_some_and(|selection| selection.holds(uuid)))
    }

    /// Those that are chosen.
    pub(crate) fn chosen(self) -> Vec<Uuid> {
        let shown = self.shown();
        self.selection.with(|selection| selection.as_ref().map(|selection| selection.among(&shown)).unwrap_or_default())
    }

    fn shown(self) -> Vec<Uuid> {
        self.items().iter().map(|item| item.uuid).collect()
    }
}
