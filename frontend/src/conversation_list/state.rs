//! What the list of conversations is made of. What is done with it is in the files beside this one, which all need it.

use leptos::prelude::*;
use tallybook_protocol::FeedEvent;
use uuid::Uuid;

use super::{pages::Pages, selection::Selection, undo::Undo, writes::Writes};
use crate::{data::PageError, days::Calendar, feed::Feed, language::Language};

/// The list of conversations. Its signals belong to the component that made it; its tasks end with that component.
#[derive(Clone, Copy)]
pub(crate) struct ConversationList {
    pub(super) pages: RwSignal<Pages>,
    /// Why there is no list.
    pub(crate) error: RwSignal<Option<PageError>>,
    /// What is searched for.
    pub(crate) search: RwSignal<String>,
    /// Whether the archive is shown in place of the list.
    pub(super) in_archive: RwSignal<bool>,
    /// What is chosen, while one chooses.
    pub(super) selection: RwSignal<Option<Selection>>,
    /// The one whose title is being changed in the list.
    pub(crate) renaming: RwSignal<Option<Uuid>>,
    pub(super) undo: RwSignal<Undo>,
    pub(super) writes: StoredValue<Writes>,
    /// What went wrong with the last search, or with loading more.
    pub(crate) notice: RwSignal<Option<String>>,
    /// What went wrong with the last change.
    pub(crate) trouble: RwSignal<Option<String>>,
    pub(super) calendar: RwSignal<Calendar>,
    pub(super) loading_more: StoredValue<bool>,
    pub(super) refreshing: StoredValue<bool>,
    pub(super) searches: StoredValue<u32>,
    /// The last time that the newest conversations were asked for, and what was told since: their list may be older.
    pub(super) asked: StoredValue<u32>,
    pub(super) meanwhile: StoredValue<Option<Vec<FeedEvent>>>,
    pub(super) feed: Feed,
    pub(super) text: Language,
}
