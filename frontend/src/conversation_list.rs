//! The list of conversations: its pages, search, archive, selection, and undo. `asking` loads data from the server,
//! `changes` sends changes to it, and `news` applies events of the feed. The sidebar renders the list.

mod asking;
mod changes;
mod choosing;
mod events;
mod group;
mod news;
mod pages;
mod selection;
mod state;
mod undo;
mod writes;

pub(crate) use group::{ListGroup, group_label};
use std::time::{Duration, UNIX_EPOCH};

use leptos::{ev, prelude::*, task::spawn_local};
pub(crate) use pages::ListView;
use pages::Pages;
pub(crate) use state::ConversationList;
use tallybook_protocol::{ConversationSummary, Page, Window};
pub(crate) use undo::{Batch, UndoableAction};
use uuid::Uuid;

use crate::{api, browser, data::PageError, days::Calendar, feed::Feed, language::use_language, reactive::effect};

impl ConversationList {
    /// Creates the list. `first` has the newest conversations and those that are pinned; `open` is the open one.
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

    /// Returns the view that is shown.
    pub(crate) fn view(self) -> ListView {
        match () {
            () if self.pages.with(|pages| pages.found.is_some()) => ListView::Search,
            () if self.in_archive.get() => ListView::Archive,
            () => ListView::Conversations,
        }
    }

    /// Returns the conversations of the shown view, in order. Leaves out those that are being deleted.
    pub(crate) fn items(self) -> Vec<ConversationSummary> {
        let view = self.view();
        let is_left = |item: &&ConversationSummary| !self.is_leaving(item.uuid);
        self.pages.with(|pages| pages.shown(view).into_iter().filter(is_left).cloned().collect())
    }

    /// Returns `true` if the list has this conversation, no matter which view is shown.
    pub(crate) fn is_listed(self, uuid: Uuid) -> bool {
        let is_it = |item: &ConversationSummary| item.uuid == uuid && !item.archived;
        !self.is_leaving(uuid) && self.pages.with(|pages| pages.newest.iter().flat_map(|page| &page.items).any(is_it))
    }

    /// Returns the known conversations of the list, newest first, no matter which view is shown.
    pub(crate) fn recent(self) -> Vec<ConversationSummary> {
        let is_left = |item: &&ConversationSummary| !item.archived && !self.is_leaving(item.uuid);
        let items = |pages: &Pages| pages.newest.iter().flat_map(|page| &page.items).filter(is_left).cloned().collect();
        self.pages.with(items)
    }

    /// Returns `true` if search results are shown.
    pub(crate) fn is_search(self) -> bool {
        self.view() == ListView::Search
    }

    /// Returns the group of a conversation in the shown view.
    pub(crate) fn group_of(self, item: &ConversationSummary) -> Option<ListGroup> {
        match self.view() {
            ListView::Search | ListView::Archive => None,
            ListView::Conversations if item.pinned => Some(ListGroup::Pinned),
            ListView::Conversations => {
                Some(ListGroup::Day(self.calendar.get().day_of(item.updated_at.timestamp_millis())))
            }
        }
    }

    /// Returns the conversations of the shown view, each with its group.
    pub(crate) fn grouped_items(self) -> Vec<(Option<ListGroup>, ConversationSummary)> {
        self.items().into_iter().map(|item| (self.group_of(&item), item)).collect()
    }

    /// Returns `true` if the shown conversations have the same groups by the days of UTC, which the server knows.
    pub(crate) fn has_server_groups(self) -> bool {
        let (here, utc) =
            (self.calendar.get(), Calendar::utc(UNIX_EPOCH + Duration::from_millis(browser::now().unsigned_abs())));
        self.items().iter().all(|item| {
            let ms = item.updated_at.timestamp_millis();
            here.day_of(ms) == utc.day_of(ms)
        })
    }

    /// Returns the summary of a conversation, if it is known.
    pub(crate) fn find(self, uuid: Uuid) -> Option<ConversationSummary> {
        self.pages.with(|pages| pages.find(uuid).cloned())
    }

    /// Returns the title of a conversation, if it is known.
    pub(crate) fn title_of(self, uuid: Uuid) -> Option<String> {
        self.pages.with(|pages| pages.find(uuid).map(|item| item.title.clone()))
    }

    /// Returns `true` if the shown view has more pages.
    pub(crate) fn has_more(self) -> bool {
        let view = self.view();
        self.pages.with(|pages| pages.page(view).is_some_and(|page| page.next_cursor.is_some()))
    }

    /// Sets the open conversation, and loads its summary if that is unknown.
    pub(crate) fn open(self, uuid: Option<Uuid>) {
        let Some(uuid) = self.pages.try_update(|pages| pages.open(uuid)).flatten() else { return };
        spawn_local(async move {
            // A failure is not reported here: the session says why nothing is shown.
            if let Ok(Some(conversation)) = api::find_conversation(uuid, NO_MESSAGES).await {
                self.pages.try_update(|pages| pages.opened(conversation.summary));
            }
        });
    }
}

/// The smallest window, for requests that need only the summary of a conversation.
const NO_MESSAGES: Window = Window { limit: Some(1), before: None, from: None };
