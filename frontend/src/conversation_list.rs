//! The list of conversations while the page lives: its pages, the search, the archive, what is chosen, and what can be taken
//! back for a moment. What happens elsewhere comes in through `news`, what is told to the server is in `changes`. How it
//! looks is in the sidebar.

mod changes;
mod news;
mod pages;
mod selection;
mod state;
mod undo;
mod writes;

use std::time::Duration;

use leptos::{ev, prelude::*, task::spawn_local};
use pages::Pages;
pub(crate) use pages::View;
use selection::Selection;
pub(crate) use state::ConversationList;
use tallybook_protocol::{ConversationSummary, FeedEvent, FeedKind, Page, Window};
pub(crate) use undo::{Batch, Deed};
use uuid::Uuid;

use crate::{
    api::{self, ApiError, Listed},
    browser,
    data::PageError,
    days::Day,
    feed::Feed,
    language::{Language, use_language},
    reactive::effect,
    session::forget_draft,
};

/// One searches for what was typed after so long without another key.
const TYPING_PAUSE: Duration = Duration::from_millis(200);
/// Things that happen at once are asked for once.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

impl ConversationList {
    /// The list that begins with `first`, the newest conversations and those that are pinned, and the one that is open.
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
        // Effects run in a browser alone, once the page is there.
        effect(move || {
            let left = window_event_listener(ev::pagehide, move |_| list.write_at_leaving());
            on_cleanup(move || left.remove());
        });
        list
    }

    /// What is shown.
    pub(crate) fn view(self) -> View {
        match () {
            () if self.pages.with(|pages| pages.found.is_some()) => View::Search,
            () if self.in_archive.get() => View::Archive,
            () => View::Conversations,
        }
    }

    /// The conversations that are shown, in their order. What is being deleted is out of sight.
    pub(crate) fn items(self) -> Vec<ConversationSummary> {
        let view = self.view();
        let is_left = |item: &&ConversationSummary| !self.is_leaving(item.uuid);
        self.pages.with(|pages| pages.shown(view).into_iter().filter(is_left).cloned().collect())
    }

    /// The conversations of the list that are known here, newest first, whatever is shown.
    pub(crate) fn recent(self) -> Vec<ConversationSummary> {
        let is_left = |item: &&ConversationSummary| !item.archived && !self.is_leaving(item.uuid);
        let items = |pages: &Pages| pages.newest.iter().flat_map(|page| &page.items).filter(is_left).cloned().collect();
        self.pages.with(items)
    }

    /// Whether what is shown is what was searched for.
    pub(crate) fn is_search(self) -> bool {
        self.view() == View::Search
    }

    /// The group of a conversation.
    pub(crate) fn group_of(self, item: &ConversationSummary) -> Option<Group> {
        match self.view() {
            View::Search | View::Archive => None,
            View::Conversations if item.pinned => Some(Group::Pinned),
            View::Conversations => Some(Group::Day(self.calendar.get().day_of(item.updated_at.timestamp_millis()))),
        }
    }

    /// What is known of a conversation.
    pub(crate) fn find(self, uuid: Uuid) -> Option<ConversationSummary> {
        self.pages.with(|pages| pages.find(uuid).cloned())
    }

    /// The title of a conversation, when it is known.
    pub(crate) fn title_of(self, uuid: Uuid) -> Option<String> {
        self.pages.with(|pages| pages.find(uuid).map(|item| item.title.clone()))
    }

    /// Whether there is more than is shown.
    pub(crate) fn has_more(self) -> bool {
        let view = self.view();
        self.pages.with(|pages| pages.page(view).is_some_and(|page| page.next_cursor.is_some()))
    }

    /// Keeps what is known of the conversation that is open, and asks for it where nothing is known.
    pub(crate) fn open(self, uuid: Option<Uuid>) {
        let known = uuid.and_then(|uuid| self.pages.with_untracked(|pages| pages.find(uuid).cloned()));
        let unknown = uuid.filter(|_| known.is_none());
        self.pages.update(|pages| pages.open = known);
        let Some(uuid) = unknown else { return };
        spawn_local(async move {
            // What cannot be had is missed by nobody: the session says why nothing is shown.
            if let Ok(Some(conversation)) = api::find_conversation(uuid, NO_MESSAGES).await {
                self.pages.try_update(|pages| pages.open.get_or_insert(conversation.summary).uuid);
            }
        });
    }

    /// Asks for the newest conversations again, soon.
    pub(crate) fn refresh(self) {
        if self.refreshing.try_get_value().unwrap_or(true) {
            return;
        }
        self.refreshing.set_value(true);
        spawn_local(async move {
            browser::sleep(REFRESH_PAUSE).await;
            if self.refreshing.try_set_value(false).is_some() {
                return;
            }
            let number = self.asked.get_value().wrapping_add(1);
            self.asked.set_value(number);
            self.meanwhile.set_value(Some(Vec::new()));
            let newest = newest_and_pinned().await;
            if self.asked.try_get_value() != Some(number) {
                return;
            }
            let meanwhile = self.meanwhile.try_update_value(Option::take).flatten();
            // A list that was there before a failed attempt to renew it stays.
            match newest {
                Ok((page, pinned)) => {
                    self.calendar.set(browser::calendar());
                    self.error.set(None);
                    self.pages.update(|pages| pages.renew(page, pinned));
                    for event in meanwhile.unwrap_or_default() {
                        self.apply(event);
                    }
                    self.show_pending();
                }
                Err(error) if self.pages.with_untracked(|pages| pages.newest.is_none()) => {
                    self.error.set(Some(PageError::new(error.message(self.text))));
                }
                Err(_) => {}
            }
        });
    }

    /// Loads the next page of what is shown.
    pub(crate) fn load_more(self) {
        let view = untrack(|| self.view());
        let cursor = self.pages.with_untracked(|pages| pages.page(view)?.next_cursor.clone());
        let Some(cursor) = cursor.filter(|_| !self.loading_more.get_value()) else { return };
        let search = self.search.get_untracked();
        self.loading_more.set_value(true);
        spawn_local(async move {
            let page = api::list_conversations(listed(view, &search), Some(&cursor)).await;
            if self.loading_more.try_set_value(false).is_some() {
                return;
            }
            match page {
                Ok(page) => self.pages.update(|pages| pages.append(view, &cursor, page)),
                Err(error) => self.notice.set(Some(error.message(self.text))),
            }
        });
    }

    /// Shows the archive, as it is now, or the list again.
    pub(crate) fn show_archive(self, is_shown: bool) {
        self.notice.set(None);
        self.selection.set(None);
        self.in_archive.set(is_shown);
        if is_shown {
            self.search_for(String::new());
            self.refresh_archive();
        }
    }

    /// Asks for the archive again where it is shown.
    fn refresh_archive(self) {
        if self.in_archive.try_get_untracked() != Some(true) {
            return;
        }
        spawn_local(async move {
            match api::list_conversations(Listed::Archived, None).await {
                Ok(page) => drop(self.pages.try_update(|pages| pages.archive = Some(page))),
                Err(error) => drop(self.notice.try_set(Some(error.message(self.text)))),
            }
        });
    }

    /// Searches for `words` once no more are typed.
    pub(crate) fn search_for(self, words: String) {
        let number = self.searches.get_value().wrapping_add(1);
        self.searches.set_value(number);
        self.notice.set(None);
        let query = words.trim().to_owned();
        self.search.set(words);
        if query.is_empty() {
            if self.pages.with_untracked(|pages| pages.found.is_some()) {
                self.pages.update(|pages| pages.found = None);
            }
            return;
        }
        spawn_local(async move {
            browser::sleep(TYPING_PAUSE).await;
            let is_last = || self.searches.try_get_value() == Some(number);
            if !is_last() {
                return;
            }
            let found = api::list_conversations(Listed::Matching(&query), None).await;
            if !is_last() {
                return;
            }
            match found {
                Ok(page) => self.pages.update(|pages| pages.found = Some(page)),
                Err(error) => self.notice.set(Some(error.message(self.text))),
            }
        });
    }

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

    /// Shows what is known without asking.
    fn apply(self, event: FeedEvent) {
        let uuid = event.conversation_id;
        match (event.kind, event.title) {
            (FeedKind::ConversationRenamed, Some(title)) => self.change(uuid, |item| title.clone_into(&mut item.title)),
            (FeedKind::ConversationDeleted, _) => self.remove(uuid),
            (FeedKind::TurnStarted, _) => self.change(uuid, |item| item.running = true),
            (FeedKind::TurnEnded, _) => self.change(uuid, |item| item.running = false),
            (FeedKind::ConversationUpdated, _) => self.change(uuid, |item| {
                item.pinned = event.pinned.unwrap_or(item.pinned);
                item.archived = event.archived.unwrap_or(item.archived);
            }),
            (
                FeedKind::ConversationCreated
                | FeedKind::ConversationRenamed
                | FeedKind::BranchSelected
                | FeedKind::Unknown,
                _,
            ) => {}
        }
    }

    fn change(self, uuid: Uuid, change: impl Fn(&mut ConversationSummary)) {
        let is_known = |pages: &Pages| pages.find(uuid).is_some();
        if self.pages.try_with_untracked(is_known) == Some(true) {
            self.pages.update(|pages| pages.change(uuid, &change));
        }
    }

    fn remove(self, uuid: Uuid) {
        forget_draft(Some(uuid));
        self.pages.try_update(|pages| pages.remove(uuid));
    }
}

/// For those who want to know a conversation and not what is in it.
const NO_MESSAGES: Window = Window { limit: Some(1), before: None, from: None };

/// The first page of the list, and what is pinned where there is more than that.
async fn newest_and_pinned() -> Result<(Page<ConversationSummary>, Vec<ConversationSummary>), ApiError> {
    let newest = api::list_conversations(Listed::Newest, None).await?;
    let pinned = match newest.next_cursor {
        Some(_) => api::list_conversations(Listed::Pinned, None).await?.items,
        None => Vec::new(),
    };
    Ok((newest, pinned))
}

fn listed(view: View, search: &str) -> Listed<'_> {
    match view {
        View::Conversations => Listed::Newest,
        View::Archive => Listed::Archived,
        View::Search => Listed::Matching(search.trim()),
    }
}

/// The groups of the list, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Group {
    Pinned,
    Day(Day),
}

/// The words above a group.
pub(crate) fn group_label(text: Language, group: Group) -> &'static str {
    match group {
        Group::Pinned => text.pinned(),
        Group::Day(Day::Today) => text.today(),
        Group::Day(Day::Yesterday) => text.yesterday(),
        Group::Day(Day::LastWeek) => text.last_week(),
        Group::Day(Day::Older) => text.older(),
    }
}
