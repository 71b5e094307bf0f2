//! What the components of an answer's items share: which of them are open, and what they are called.

use leptos::prelude::*;
use tallybook_protocol::PlanStepId;

use crate::{
    components::shown::{Shown, read},
    reactive::memo,
    transcript::{ItemKey, Line, Places, Toggles},
};

/// What the items of one answer share.
#[derive(Clone, Copy)]
pub(crate) struct Items {
    pub(crate) shown: Shown,
    /// Where the answer's pieces are, found once for all of them.
    pub(crate) places: Memo<Places>,
    toggles: RwSignal<Toggles>,
}

impl Items {
    /// The items of one answer, all closed.
    pub(crate) fn new(shown: Shown) -> Self {
        let places = memo(move |_| read(shown.entry, Places::of));
        Self { shown, places, toggles: RwSignal::new(Toggles::default()) }
    }

    /// Whether an item is open; `by_default` where the reader did not say.
    pub(crate) fn is_open(self, key: ItemKey, by_default: bool) -> bool {
        self.toggles.with(|toggles| toggles.is_open(self.shown.expand_all.get(), key, by_default))
    }

    /// Whether a group is open.
    pub(crate) fn is_group_open(self, keys: &[ItemKey]) -> bool {
        self.toggles.with(|toggles| toggles.is_group_open(self.shown.expand_all.get(), keys))
    }

    /// Whether a step of the plan is open in which these items stand; `by_default` where the reader did not say.
    pub(crate) fn is_step_open(self, step: PlanStepId, keys: &[ItemKey], by_default: bool) -> bool {
        self.toggles.with(|toggles| toggles.is_step_open(self.shown.expand_all.get(), step, keys, by_default))
    }

    /// Opens or closes a step of the plan for the reader.
    pub(crate) fn set_step(self, step: PlanStepId, open: bool) {
        self.toggles.update(|toggles| toggles.set_step(self.shown.expand_all.get_untracked(), step, open));
    }

    /// Opens or closes an item for the reader.
    pub(crate) fn set(self, key: ItemKey, open: bool) {
        self.toggles.update(|toggles| toggles.set(self.shown.expand_all.get_untracked(), key, open));
    }

    /// Opens or closes a group for the reader.
    pub(crate) fn set_group(self, keys: &[ItemKey], open: bool) {
        self.toggles.update(|toggles| toggles.set_group(self.shown.expand_all.get_untracked(), keys, open));
    }
}

/// The id of an item's element.
pub(crate) fn element_id(key: ItemKey) -> String {
    match key {
        ItemKey::Call(id) => format!("call-{id}"),
        ItemKey::Thought(message, step) => format!("thought-{message}-{step}"),
    }
}

/// The lines of one run of items, as they change.
pub(crate) type Lines = Memo<Vec<Line>>;
