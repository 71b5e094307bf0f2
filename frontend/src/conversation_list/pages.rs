//! Known conversations: the pages of the list, of the archive and of the search, and the open conversation. Does not
//! use the browser.

use tallybook_protocol::{ConversationSummary, Page};
use uuid::Uuid;

type Conversations = Page<ConversationSummary>;

/// A view of the conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListView {
    /// All conversations except archived ones. Pinned ones come first.
    #[default]
    Conversations,
    Archive,
    /// Search results.
    Search,
}

/// All loaded conversations. A conversation may be in several pages, and has the same state in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// The newest conversations, and all pinned ones. `None` until they could be loaded.
    pub(super) newest: Option<Conversations>,
    /// The archive. It is loaded when the user first opens it.
    pub(super) archive: Option<Conversations>,
    pub(super) found: Option<Conversations>,
    /// The open conversation, which may be in none of the pages.
    pub(super) open: Option<ConversationSummary>,
    /// The ID of the open conversation, while its summary is being loaded.
    pub(super) opening: Option<Uuid>,
}

impl Pages {
    pub(super) fn page(&self, view: ListView) -> Option<&Conversations> {
        match view {
            ListView::Conversations => self.newest.as_ref(),
            ListView::Archive => self.archive.as_ref(),
            ListView::Search => self.found.as_ref(),
        }
    }

    /// Returns the conversations of a view, in order. The list also contains the open conversation however old it is,
    /// so that it can be highlighted there, unless it is archived.
    pub(super) fn shown(&self, view: ListView) -> Vec<&ConversationSummary> {
        let page = self.page(view);
        let items = page.into_iter().flat_map(|page| &page.items);
        match view {
            ListView::Search => items.collect(),
            ListView::Archive => items.filter(|item| item.archived).collect(),
            ListView::Conversations => {
                let is_missing = |open: &&ConversationSummary| {
                    page.is_some_and(|page| page.items.iter().all(|item| item.uuid != open.uuid))
                };
                let mut items: Vec<_> = items.collect();
                if let Some(open) = self.open.as_ref().filter(is_missing) {
                    let older = items.iter().position(|item| item.updated_at < open.updated_at);
                    items.insert(older.unwrap_or(items.len()), open);
                }
                let (pinned, others): (Vec<_>, Vec<_>) =
                    items.into_iter().filter(|item| !item.archived).partition(|item| item.pinned);
                [pinned, others].concat()
            }
        }
    }

    /// Sets the open conversation. Returns its ID if its summary must be loaded.
    pub(super) fn open(&mut self, uuid: Option<Uuid>) -> Option<Uuid> {
        let known = uuid.and_then(|uuid| self.find(uuid).cloned());
        self.opening = uuid.filter(|_| known.is_none());
        self.open = known;
        self.opening
    }

    /// Stores the loaded summary of the open conversation. Ignores that of a conversation that is no longer open.
    pub(super) fn opened(&mut self, summary: ConversationSummary) {
        if self.opening.take_if(|opening| *opening == summary.uuid).is_some() {
            self.open = Some(summary);
        }
    }

    /// Returns a conversation from any page.
    pub(super) fn find(&self, uuid: Uuid) -> Option<&ConversationSummary> {
        let pages = [&self.newest, &self.archive, &self.found].into_iter().flatten();
        pages.flat_map(|page| &page.items).chain(&self.open).find(|item| item.uuid == uuid)
    }

    /// Changes a conversation in all pages.
    pub(super) fn change(&mut self, uuid: Uuid, change: &dyn Fn(&mut ConversationSummary)) {
        let pages = [&mut self.newest, &mut self.archive, &mut self.found].into_iter().flatten();
        let items = pages.flat_map(|page| &mut page.items).chain(&mut self.open);
        items.filter(|item| item.uuid == uuid).for_each(change);
    }

    /// Sets the state of a conversation in all pages. Adds it to the list or the archive if it belongs there now.
    pub(super) fn put(&mut self, item: &ConversationSummary) {
        self.change(item.uuid, &|held| held.clone_from(item));
        for (page, belongs) in [(&mut self.newest, !item.archived), (&mut self.archive, item.archived)] {
            if let Some(page) = page.as_mut().filter(|_| belongs) {
                if page.items.iter().all(|held| held.uuid != item.uuid) {
                    page.items.push(item.clone());
                }
                sort(&mut page.items);
            }
        }
    }

    pub(super) fn remove(&mut self, uuid: Uuid) {
        for page in [&mut self.newest, &mut self.archive, &mut self.found].into_iter().flatten() {
            page.items.retain(|item| item.uuid != uuid);
        }
        self.open.take_if(|open| open.uuid == uuid);
    }

    /// Removes all conversations.
    pub(super) fn clear(&mut self) {
        for page in [&mut self.newest, &mut self.archive, &mut self.found].into_iter().flatten() {
            page.items.clear();
            page.next_cursor = None;
        }
        self.open = None;
    }

    /// Stores the list after a refresh: its first page, and all pinned conversations. Older pages that were loaded
    /// stay.
    pub(super) fn renew(&mut self, newest: Conversations, pinned: Vec<ConversationSummary>) {
        let held = self.newest.take().map(|mut held| {
            // Pinned conversations come from `pinned`, and archived ones from the archive.
            held.items.retain(|item| !item.pinned && !item.archived);
            held
        });
        let mut page = joined(newest, held);
        add(&mut page.items, pinned);
        if let Some(open) = &mut self.open
            && let Some(item) = page.items.iter().find(|item| item.uuid == open.uuid)
        {
            open.clone_from(item);
        }
        self.newest = Some(page);
    }

    /// Adds the page after `cursor`, unless the list that it belongs to was replaced.
    pub(super) fn append(&mut self, view: ListView, cursor: &str, page: Conversations) {
        let held = match view {
            ListView::Conversations => &mut self.newest,
            ListView::Archive => &mut self.archive,
            ListView::Search => &mut self.found,
        };
        if let Some(held) = held.as_mut().filter(|held| held.next_cursor.as_deref() == Some(cursor)) {
            add(&mut held.items, page.items);
            held.next_cursor = page.next_cursor;
        }
    }
}

fn add(items: &mut Vec<ConversationSummary>, more: Vec<ConversationSummary>) {
    for item in more {
        if items.iter().all(|held| held.uuid != item.uuid) {
            items.push(item);
        }
    }
    sort(items);
}

/// Sorts conversations, newest first. Those with the same time keep their order.
fn sort(items: &mut [ConversationSummary]) {
    items.sort_by_key(|item| std::cmp::Reverse(item.updated_at));
}

/// Returns the newest page, followed by older conversations that were loaded before.
fn joined(newest: Conversations, held: Option<Conversations>) -> Conversations {
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

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use tallybook_protocol::{ConversationSummary, Page};
    use uuid::Uuid;

    use super::{ListView, Pages, joined};

    fn summary(uuid: u128, seconds: i64) -> ConversationSummary {
        let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        ConversationSummary {
            uuid: Uuid::from_u128(uuid),
            title: "Sums".to_owned(),
            running: false,
            awaiting_approval: false,
            pinned: false,
            archived: false,
            model: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn pinned(uuid: u128, seconds: i64) -> ConversationSummary {
        ConversationSummary { pinned: true, ..summary(uuid, seconds) }
    }

    fn page(items: &[(u128, i64)], next_cursor: Option<&str>) -> Page<ConversationSummary> {
        let items = items.iter().map(|&(uuid, seconds)| summary(uuid, seconds)).collect();
        Page { items, next_cursor: next_cursor.map(str::to_owned) }
    }

    fn shown(pages: &Pages, view: ListView) -> Vec<u128> {
        pages.shown(view).iter().map(|item| item.uuid.as_u128()).collect()
    }

    #[test]
    fn older_pages_stay_when_the_newest_page_is_loaded_again() {
        let held = page(&[(1, 50), (2, 40), (3, 30), (4, 20)], Some("after 4"));
        // Conversation 3 has a new message, so 2 is now the last one of the first page.
        let newest = page(&[(3, 60), (1, 50), (2, 40)], Some("after 2"));
        assert_eq!(joined(newest, Some(held)), page(&[(3, 60), (1, 50), (2, 40), (4, 20)], Some("after 4")));
    }

    #[test]
    fn a_newest_page_without_further_pages_replaces_the_list() {
        let held = page(&[(1, 50), (2, 40)], None);
        assert_eq!(joined(page(&[(1, 50)], None), Some(held.clone())), page(&[(1, 50)], None));
        assert_eq!(joined(held.clone(), None), held);
    }

    #[test]
    fn pinned_conversations_come_first_and_archived_ones_are_only_in_the_archive() {
        let mut pages = Pages::default();
        pages.renew(page(&[(1, 50), (2, 40)], Some("after 2")), vec![pinned(9, 5)]);
        assert_eq!(shown(&pages, ListView::Conversations), [9, 1, 2]);
        pages.append(ListView::Conversations, "after 2", page(&[(3, 30), (9, 5)], None));
        assert_eq!(shown(&pages, ListView::Conversations), [9, 1, 2, 3], "no conversation is listed twice");

        pages.put(&pinned(2, 40));
        assert_eq!(shown(&pages, ListView::Conversations), [2, 9, 1, 3]);
        let put_away = ConversationSummary { archived: true, ..summary(1, 50) };
        pages.archive = Some(page(&[], None));
        pages.put(&put_away);
        assert_eq!(
            (shown(&pages, ListView::Conversations), shown(&pages, ListView::Archive)),
            (vec![2, 9, 3], vec![1])
        );
        pages.put(&summary(1, 50));
        assert_eq!(
            (shown(&pages, ListView::Conversations), shown(&pages, ListView::Archive)),
            (vec![2, 9, 1, 3], vec![])
        );
    }

    #[test]
    fn conversations_that_were_unpinned_or_deleted_are_gone_after_a_refresh() {
        let mut pages = Pages::default();
        pages.renew(page(&[(1, 50)], Some("after 1")), vec![pinned(8, 6), pinned(9, 5)]);
        pages.renew(page(&[(1, 50)], Some("after 1")), vec![pinned(9, 5)]);
        assert_eq!(shown(&pages, ListView::Conversations), [9, 1]);
    }

    #[test]
    fn a_conversation_that_leaves_the_archive_is_added_to_the_list() {
        let mut pages = Pages { archive: Some(page(&[(7, 70)], None)), ..Pages::default() };
        pages.renew(page(&[(1, 50)], None), Vec::new());
        pages.put(&summary(7, 70));
        assert_eq!((shown(&pages, ListView::Conversations), shown(&pages, ListView::Archive)), (vec![7, 1], vec![]));
    }

    #[test]
    fn the_list_contains_the_open_conversation_however_old_it_is() {
        let mut pages = Pages { newest: Some(page(&[(1, 50), (2, 40)], Some("after 2"))), ..Pages::default() };
        pages.open = Some(summary(7, 1));
        assert_eq!(shown(&pages, ListView::Conversations), [1, 2, 7]);
        pages.append(ListView::Conversations, "after 2", page(&[(3, 30), (7, 1)], None));
        assert_eq!(shown(&pages, ListView::Conversations), [1, 2, 3, 7], "it is listed once");
        pages.open = Some(ConversationSummary { archived: true, ..summary(8, 45) });
        assert_eq!(shown(&pages, ListView::Conversations), [1, 2, 3, 7], "it is in the archive");
        assert_eq!(shown(&Pages { open: pages.open, ..Pages::default() }, ListView::Conversations), [] as [u128; 0]);
    }

    #[test]
    fn a_summary_that_arrives_after_another_conversation_was_opened_is_ignored() {
        let mut pages = Pages { newest: Some(page(&[(1, 50)], None)), ..Pages::default() };
        let [first, second] = [7, 8].map(Uuid::from_u128);
        assert_eq!(pages.open(Some(first)), Some(first));
        assert_eq!(pages.open(Some(second)), Some(second));
        pages.opened(summary(7, 1));
        assert_eq!((pages.find(first), pages.find(second)), (None, None));
        pages.opened(summary(8, 2));
        assert_eq!(pages.open.as_ref(), Some(&summary(8, 2)));
        assert_eq!(pages.open(Some(Uuid::from_u128(1))), None, "it is known from the list");
        pages.opened(summary(8, 2));
        assert_eq!(pages.open.as_ref(), Some(&summary(1, 50)));
        assert_eq!((pages.open(None), pages.open), (None, None));
    }

    #[test]
    fn a_cleared_list_has_no_conversations_and_no_further_pages() {
        let held = |uuid| Some(page(&[(uuid, 50)], Some("more")));
        let mut pages = Pages { newest: held(1), archive: held(2), found: held(3), ..Pages::default() };
        pages.open = Some(summary(4, 1));
        pages.clear();
        for view in [ListView::Conversations, ListView::Archive, ListView::Search] {
            assert_eq!(pages.page(view), Some(&page(&[], None)), "{view:?}");
            assert_eq!(shown(&pages, view), [] as [u128; 0]);
        }
    }

    #[test]
    fn the_open_conversation_is_known_even_if_no_page_contains_it() {
        let mut pages = Pages { open: Some(summary(5, 1)), ..Pages::default() };
        pages.change(Uuid::from_u128(5), &|item| item.archived = true);
        assert!(pages.find(Uuid::from_u128(5)).is_some_and(|item| item.archived));
        pages.remove(Uuid::from_u128(5));
        assert_eq!(pages.find(Uuid::from_u128(5)), None);
    }
}
