//! The state of the list of conversations. The other files in this folder have its methods.

use leptos::prelude::*;
use tallybook_protocol::FeedEvent;
use uuid::Uuid;

use super::{pages::Pages, selection::Selection, undo::Undo, writes::Writes};
use crate::{data::PageError, days::Calendar, feed::Feed, language::Language};

/// The list of conversations. Its signals belong to the component that created it, and its tasks end with that
/// component.
#[derive(Clone, Copy)]
pub(crate) struct ConversationList {
    pub(super) pages: RwSignal<Pages>,
    /// The reason why the list could not be loaded.
    pub(crate) error: RwSignal<Option<PageError>>,
    /// The text of the search field.
    pub(crate) search: RwSignal<String>,
    /// `true` if the archive is shown instead of the list.
    pub(super) in_archive: RwSignal<bool>,
    /// The selection, while the user selects conversations.
    pub(super) selection: RwSignal<Option<Selection>>,
    /// The conversation whose title is being edited in the list.
    pub(crate) renaming: RwSignal<Option<Uuid>>,
    pub(super) undo: RwSignal<Undo>,
    pub(super) writes: StoredValue<Writes>,
    /// The reason why the last search, or the last attempt to load more, failed.
    pub(crate) notice: RwSignal<Option<String>>,
    /// The reason why the last change failed.
    pub(crate) trouble: RwSignal<Option<String>>,
    pub(super) calendar: RwSignal<Calendar>,
    pub(super) loading_more: StoredValue<bool>,
    pub(super) refreshing: StoredValue<bool>,
    pub(super) searches: StoredValue<u32>,
    /// Number of the last request for the newest conversations. `meanwhile` has the events since then, because the
    /// response may be older than these.
    pub(super) asked: StoredValue<u32>,
    pub(super) meanwhile: StoredValue<Option<Vec<FeedEvent>>>,
    pub(super) feed: Feed,
    pub(super) text: Language,
}
