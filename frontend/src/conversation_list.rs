//! The list of conversations while the page lives: its pages, the search, and what was deleted a moment ago. What happens
//! elsewhere comes in through `news`. How it looks is in the sidebar.

mod leaving;
mod news;

use std::time::Duration;

use leaving::Leaving;
use leptos::{ev, prelude::*, task::spawn_local};
use tallybook_protocol::{ConversationSummary, FeedEvent, FeedKind, Page};
use uuid::Uuid;

use crate::{
    api, browser,
    data::PageError,
    days::{Calendar, Day},
    feed::{Feed, News},
    language::{Language, use_language},
    session::forget_draft,
};

/// How long a deleted conversation can be taken back.
const UNDO_FOR: Duration = Duration::from_secs(6);
/// One searches for what was typed after so long without another key.
const TYPING_PAUSE: Duration = Duration::from_millis(200);
/// Things that happen at once are asked for once.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

/// The list of conversations. Its signals belong to the component that made it; its tasks end with that component.
#[derive(Clone, Copy)]
pub(crate) struct ConversationList {
    /// All that was loaded; nothing as long as that failed.
    all: RwSignal<Option<Page<ConversationSummary>>>,
    /// Why there is no list.
    pub(crate) error: RwSignal<Option<PageError>>,
    /// What is searched for.
    pub(crate) search: RwSignal<String>,
    found: RwSignal<Option<Page<ConversationSummary>>>,
    /// Deleted, but not yet on the server.
    leaving: RwSignal<Leaving>,
    /// What went wrong with the last thing asked for.
    pub(crate) notice: RwSignal<Option<String>>,
    calendar: RwSignal<Calendar>,
    loading_more: StoredValue<bool>,
    refreshing: StoredValue<bool>,
    searches: StoredValue<u32>,
    /// The last time that the newest conversations were asked for, and what was told since: their list may be older.
    asked: StoredValue<u32>,
    meanwhile: StoredValue<Option<Vec<FeedEvent>>>,
    feed: Feed,
    text: Language,
}

impl ConversationList {
    /// The list that begins with `first`.
    pub(crate) fn new(first: Result<Page<ConversationSummary>, PageError>, feed: Feed) -> Self {
        let (all, error) = match first {
            Ok(page) => (Some(page), None),
            Err(error) => (None, Some(error)),
        };
        let list = Self {
            all: RwSignal::new(all),
            error: RwSignal::new(error),
            search: RwSignal::new(String::new()),
            found: RwSignal::new(None),
            leaving: RwSignal::default(),
            notice: RwSignal::new(None),
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
        Effect::new(move || {
            let left = window_event_listener(ev::pagehide, move |_| list.delete_at_once());
            on_cleanup(move || left.remove());
        });
        list
    }

    /// What is shown: all conversations, or those that match the search.
    pub(crate) fn items(&self) -> Vec<ConversationSummary> {
        let shown = if self.is_search() { self.found } else { self.all };
        shown.with(|page| page.as_ref().map(|page| page.items.clone()).unwrap_or_default())
    }

    /// Whether there are headings for days.
    pub(crate) fn has_days(&self) -> bool {
        !self.is_search() && self.all.with(|all| all.as_ref().is_some_and(|all| !all.items.is_empty()))
    }

    /// Whether what is shown is what was searched for.
    pub(crate) fn is_search(&self) -> bool {
        self.found.with(Option::is_some)
    }

    /// The group of a conversation; none of what was searched for.
    pub(crate) fn day_of(&self, item: &ConversationSummary) -> Option<Day> {
        (!self.is_search()).then(|| self.calendar.get().day_of(item.updated_at.timestamp_millis()))
    }

    /// A conversation, as long as it is in what is shown.
    pub(crate) fn find(&self, uuid: Uuid) -> Option<ConversationSummary> {
        let shown = if self.is_search() { self.found } else { self.all };
        shown.with(|page| page.as_ref()?.items.iter().find(|item| item.uuid == uuid).cloned())
    }

    /// The title of a conversation, when it is in the list.
    pub(crate) fn title_of(&self, uuid: Uuid) -> Option<String> {
        let find = |page: &Page<ConversationSummary>| {
            page.items.iter().find(|item| item.uuid == uuid).map(|item| item.title.clone())
        };
        self.all.with(|all| all.as_ref().and_then(find))
    }

    /// Whether there is more than is shown.
    pub(crate) fn has_more(&self) -> bool {
        let cursor = |page: &Option<Page<ConversationSummary>>| page.as_ref().and_then(|page| page.next_cursor.clone());
        if self.is_search() { self.found.with(cursor).is_some() } else { self.all.with(cursor).is_some() }
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
            let newest = api::list_conversations("", None).await;
            if self.asked.try_get_value() != Some(number) {
                return;
            }
            let meanwhile = self.meanwhile.try_update_value(Option::take).flatten();
            // A list that was there before a failed attempt to renew it stays.
            match newest {
                Ok(page) => {
                    self.calendar.set(browser::calendar());
                    self.error.set(None);
                    self.all.update(|all| *all = Some(joined(page, all.take())));
                    for event in meanwhile.unwrap_or_default() {
                        self.apply(event);
                    }
                }
                Err(error) if self.all.with_untracked(Option::is_none) => {
                    self.error.set(Some(PageError::new(error.message(self.text))));
                }
                Err(_) => {}
            }
        });
    }

    /// Loads the next page of what is shown.
    pub(crate) fn load_more(self) {
        let (shown, search) = if self.found.with_untracked(Option::is_some) {
            (self.found, self.search.get_untracked())
        } else {
            (self.all, String::new())
        };
        let Some(cursor) = shown.with_untracked(|page| page.as_ref()?.next_cursor.clone()) else { return };
        if self.loading_more.get_value() {
            return;
        }
        self.loading_more.set_value(true);
        spawn_local(async move {
            let page = api::list_conversations(search.trim(), Some(&cursor)).await;
            if self.loading_more.try_set_value(false).is_some() {
                return;
            }
            match page {
                Ok(page) => shown.update(|shown| {
                    // Another search may have taken its place.
                    if let Some(shown) = shown.as_mut().filter(|shown| shown.next_cursor.as_ref() == Some(&cursor)) {
                        let new =
                            page.items.into_iter().filter(|item| shown.items.iter().all(|held| held.uuid != item.uuid));
                        let new: Vec<_> = new.collect();
                        shown.items.extend(new);
                        shown.next_cursor = page.next_cursor;
                    }
                }),
                Err(error) => self.notice.set(Some(error.message(self.text))),
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
            self.found.set(None);
            return;
        }
        spawn_local(async move {
            browser::sleep(TYPING_PAUSE).await;
            let is_last = || self.searches.try_get_value() == Some(number);
            if !is_last() {
                return;
            }
            let found = api::list_conversations(&query, None).await;
            if !is_last() {
                return;
            }
            match found {
                Ok(page) => self.found.set(Some(page)),
                Err(error) => self.notice.set(Some(error.message(self.text))),
            }
        });
    }

    /// Gives a conversation another title, shown at once.
    pub(crate) fn rename(self, uuid: Uuid, old: String, title: String) {
        self.notice.set(None);
        self.set_title(uuid, &title);
        spawn_local(async move {
            if let Err(error) = api::rename_conversation(uuid, title).await
                && self.notice.try_set(Some(error.message(self.text))).is_none()
            {
                self.set_title(uuid, &old);
            }
        });
    }

    /// Whether a conversation is deleted here but not yet on the server.
    pub(crate) fn is_leaving(&self, uuid: Uuid) -> bool {
        self.leaving.with(|leaving| leaving.holds(uuid))
    }

    /// Deletes a conversation, unless it is taken back in time.
    pub(crate) fn delete(self, uuid: Uuid) {
        self.notice.set(None);
        let Some(deletion) = self.leaving.try_update(|leaving| leaving.begin(uuid)) else { return };
        spawn_local(async move {
            browser::sleep(UNDO_FOR).await;
            // It may have been taken back, and even begun anew.
            if self.leaving.try_with_untracked(|leaving| leaving.is_due(uuid, deletion)) != Some(true) {
                return;
            }
            let outcome = api::delete_conversation(uuid).await;
            match outcome {
                Err(error) if !error.is_not_found() => {
                    if self.notice.try_set(Some(error.message(self.text))).is_some() {
                        return;
                    }
                }
                Ok(()) | Err(_) => self.tell_deleted(uuid),
            }
            self.leaving.try_update(|leaving| leaving.end(uuid));
        });
    }

    /// Takes a deletion back.
    pub(crate) fn undo(self, uuid: Uuid) {
        self.leaving.update(|leaving| leaving.end(uuid));
    }

    /// The page is left: nobody can take anything back any more.
    fn delete_at_once(self) {
        for uuid in self.leaving.try_update(Leaving::take).unwrap_or_default() {
            browser::send_at_leaving("DELETE", &api::conversation_url(uuid));
            self.remove(uuid);
        }
    }

    /// Tells everybody on this page at once that a conversation is gone.
    fn tell_deleted(self, uuid: Uuid) {
        let (kind, title) = (FeedKind::ConversationDeleted, None);
        self.feed.publish(&News::Event(FeedEvent { conversation_id: uuid, kind, title, pinned: None, archived: None }));
    }

    /// Shows what is known without asking.
    fn apply(self, event: FeedEvent) {
        let uuid = event.conversation_id;
        match (event.kind, event.title) {
            (FeedKind::ConversationRenamed, Some(title)) => self.set_title(uuid, &title),
            (FeedKind::ConversationDeleted, _) => self.remove(uuid),
            (FeedKind::TurnStarted, _) => self.change(uuid, |item| item.running = true),
            (FeedKind::TurnEnded, _) => self.change(uuid, |item| item.running = false),
            (
                FeedKind::ConversationCreated
                | FeedKind::ConversationUpdated
                | FeedKind::ConversationRenamed
                | FeedKind::BranchSelected
                | FeedKind::Unknown,
                _,
            ) => {}
        }
    }
    fn set_title(self, uuid: Uuid, title: &str) {
        self.change(uuid, |item| title.clone_into(&mut item.title));
    }

    fn change(self, uuid: Uuid, change: impl Fn(&mut ConversationSummary)) {
        for pages in [self.all, self.found] {
            let holds = |page: &Option<Page<ConversationSummary>>| {
                page.as_ref().is_some_and(|page| page.items.iter().any(|item| item.uuid == uuid))
            };
            if pages.try_with_untracked(holds) == Some(true) {
                pages.update(|page| {
                    page.iter_mut().flat_map(|page| &mut page.items).filter(|item| item.uuid == uuid).for_each(&change);
                });
            }
        }
    }

    fn remove(self, uuid: Uuid) {
        forget_draft(Some(uuid));
        for pages in [self.all, self.found] {
            pages.try_update(|page| page.iter_mut().for_each(|page| page.items.retain(|item| item.uuid != uuid)));
        }
    }
}

/// The newest page before the older ones that were loaded already.
fn joined(newest: Page<ConversationSummary>, held: Option<Page<ConversationSummary>>) -> Page<ConversationSummary> {
    let (Some(held), Some(last)) = (held.filter(|_| newest.next_cursor.is_some()), newest.items.last()) else {
        return newest;
    };
    let last = last.updated_at;
    let is_older =
        |item: &ConversationSummary| item.updated_at < last && newest.items.iter().all(|newer| newer.uuid != item.uuid);
    let older: Vec<_> = held.items.into_iter().filter(is_older).collect();
    if older.is_empty() {
        return newest;
    }
    Page { items: newest.items.into_iter().chain(older).collect(), next_cursor: held.next_cursor }
}

/// The words above a group.
pub(crate) fn day_label(text: Language, day: Day) -> &'static str {
    match day {
        Day::Today => text.today(),
        Day::Yesterday => text.yesterday(),
        Day::LastWeek => text.last_week(),
        Day::Older => text.older(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use tallybook_protocol::{ConversationSummary, Page};
    use uuid::Uuid;

    use super::joined;

    fn page(items: &[(u128, i64)], next_cursor: Option<&str>) -> Page<ConversationSummary> {
        let summary = |&(uuid, seconds): &(u128, i64)| {
            let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
            ConversationSummary {
                uuid: Uuid::from_u128(uuid),
                title: "Sums".to_owned(),
                running: false,
                pinned: false,
                archived: false,
                created_at: at,
                updated_at: at,
            }
        };
        Page { items: items.iter().map(summary).collect(), next_cursor: next_cursor.map(str::to_owned) }
    }

    #[test]
    fn older_pages_stay_when_the_newest_is_read_again() {
        let held = page(&[(1, 50), (2, 40), (3, 30), (4, 20)], Some("after 4"));
        // 3 was written to, and 2 is the last of the first page now.
        let newest = page(&[(3, 60), (1, 50), (2, 40)], Some("after 2"));
        assert_eq!(joined(newest, Some(held)), page(&[(3, 60), (1, 50), (2, 40), (4, 20)], Some("after 4")));
    }

    #[test]
    fn a_newest_page_that_is_all_there_is_replaces_what_was_held() {
        let held = page(&[(1, 50), (2, 40)], None);
        assert_eq!(joined(page(&[(1, 50)], None), Some(held.clone())), page(&[(1, 50)], None));
        assert_eq!(joined(held.clone(), None), held);
    }
}
