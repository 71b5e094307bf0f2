//! The list of conversations: its pages, search, archive, selection, and undo. `asking` loads, `changes` sends changes, and
//! `news` applies events of the feed. The sidebar renders it.

mod asking;
mod changes;
mod choosing;
mod group;
mod news;
mod pages;
mod selection;
mod state;
mod told;
mod undo;
mod writes;

pub(crate) use group::{Group, group_label};
use leptos::{ev, prelude::*, task::spawn_local};
use pages::Pages;
pub(crate) use pages::View;
pub(crate) use state::ConversationList;
use tallybook_protocol::{ConversationSummary, Page, Window};
pub(crate) use undo::{Batch, Deed};
use uuid::Uuid;

use crate::{api, browser, data::PageError, feed::Feed, language::use_language, reactive::effect};

impl ConversationList {
    /// Creates the list from its first page, which includes pinned conversations, and the open conversation.
    pub(crate) fn new(
        first: Result<Page<ConversationSummary>, PageError>,
        open: Option<ConversationSummary>,
        feed: Feed,
    ) -> Self {
        let (newest, error) = match first {
            Ok(page) => (Some(page), None),
            Err(error) => (None, Some(error)),
        };
        let list = Self {
            pages: RwSignal::new(Pages { newest, open, ..Pages::default() }),
            error: RwSignal::new(error),
            search: RwSignal::new(String::new()),
            in_archive: RwSignal::new(false),
            selection: RwSignal::new(None),
            renaming: RwSignal::new(None),
            undo: RwSignal::default(),
            writes: StoredValue::default(),
            notice: RwSignal::new(None),
            trouble: RwSignal::new(None),
            calendar: RwSignal::new(browser::calendar()),
            loading_more: StoredValue::new(false),
            refreshing: StoredValue::new(false),
            searches: StoredValue::new(0),
            asked: StoredValue::new(0),
            meanwhile: StoredValue::default(),
            feed,
            text: use_language(),
        };
        // Effects run only in a browser, once the page is mounted.
        effect(move || {
            let left = window_event_listener(ev::pagehide, move |_| list.write_at_leaving());
            on_cleanup(move || left.remove());
        });
        list
    }

    /// Returns the part of the list that is shown.
    pub(crate) fn view(self) -> View {
        match () {
            () if self.pages.with(|pages| pages.found.is_some()) => View::Search,
            () if self.in_archive.get() => View::Archive,
            () => View::Conversations,
        }
    }

    /// Returns the shown conversations, in order, without those that are being deleted.
    pub(crate) fn items(self) -> Vec<ConversationSummary> {
        let view = self.view();
        let is_left = |item: &&ConversationSummary| !self.is_leaving(item.uuid);
        self.pages.with(|pages| pages.shown(view).into_iter().filter(is_left).cloned().collect())
    }

    /// Returns the loaded conversations that are not archived, newest first, whatever is shown.
    pub(crate) fn recent(self) -> Vec<ConversationSummary> {
        let is_left = |item: &&ConversationSummary| !item.archived && !self.is_leaving(item.uuid);
        let items = |pages: &Pages| pages.newest.iter().flat_map(|page| &page.items).filter(is_left).cloned().collect();
        self.pages.with(items)
    }

    /// Returns `true` if search results are shown.
    pub(crate) fn is_search(self) -> bool {
        self.view() == View::Search
    }

    /// Returns the group of a conversation.
    pub(crate) fn group_of(self, item: &ConversationSummary) -> Option<Group> {
        match self.view() {
            View::Search | View::Archive => None,
            View::Conversations if item.pinned => Some(Group::Pinned),
            View::Conversations => Some(Group::Day(self.calendar.get().day_of(item.updated_at.timestamp_millis()))),
        }
    }

    /// Returns a conversation, if it is loaded.
    pub(crate) fn find(self, uuid: Uuid) -> Option<ConversationSummary> {
        self.pages.with(|pages| pages.find(uuid).cloned())
    }

    /// Returns the title of a conversation, if it is loaded.
    pub(crate) fn title_of(self, uuid: Uuid) -> Option<String> {
        self.pages.with(|pages| pages.find(uuid).map(|item| item.title.clone()))
    }

    /// Returns `true` if there are more conversations to load.
    pub(crate) fn has_more(self) -> bool {
        let view = self.view();
        self.pages.with(|pages| pages.page(view).is_some_and(|page| page.next_cursor.is_some()))
    }

    /// Remembers the open conversation, and loads it if it is unknown.
    pub(crate) fn open(self, uuid: Option<Uuid>) {
        let Some(uuid) = self.pages.try_update(|pages| pages.open(uuid)).flatten() else { return };
        spawn_local(async move {
            // A failure needs no notice here, because the session shows one.
            if let Ok(Some(conversation)) = api::find_conversation(uuid, NO_MESSAGES).await {
                self.pages.try_update(|pages| pages.opened(conversation.summary));
            }
        });
    }
}

/// Window of requests that need a conversation's summary, and not its messages.
const NO_MESSAGES: Window = Window { limit: Some(1), before: None, from: None };
