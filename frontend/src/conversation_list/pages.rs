//! The loaded conversations: pages of the list, of the archive and of search results, and the open conversation.

use tallybook_protocol::{ConversationSummary, Page};
use uuid::Uuid;

type Conversations = Page<ConversationSummary>;

/// The part that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// All conversations that are not archived, pinned ones first.
    #[default]
    Conversations,
    Archive,
    /// Search results.
    Search,
}

/// The loaded pages. A conversation may be in several pages, and has the same state in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// The newest conversations, and all pinned ones; `None` until they have been loaded.
    pub(super) newest: Option<Conversations>,
    /// The archive, loaded when it is first opened.
    pub(super) archive: Option<Conversations>,
    pub(super) found: Option<Conversations>,
    /// The open conversation, which may be in no page.
    pub(super) open: Option<ConversationSummary>,
    /// ID of the open conversation, while its summary is being loaded.
    pub(super) opening: Option<Uuid>,
}

impl Pages {
    pub(super) fn page(&self, view: View) -> Option<&Conversations> {
        match view {
            View::Conversations => self.newest.as_ref(),
            View::Archive => self.archive.as_ref(),
            View::Search => self.found.as_ref(),
        }
    }

    /// Returns the conversations of a view, in order. The list includes the open one, however old it is.
    pub(super) fn shown(&self, view: View) -> Vec<&ConversationSummary> {
        let page = self.page(view);
        let items = page.into_iter().flat_map(|page| &page.items);
        match view {
            View::Search => items.collect(),
            View::Archive => items.filter(|item| item.archived).collect(),
            View::Conversations => {
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

    /// Sets the open conversation. Returns its ID if its summary has to be loaded.
    pub(super) fn open(&mut self, uuid: Option<Uuid>) -> Option<Uuid> {
        let known = uuid.and_then(|uuid| self.find(uuid).cloned());
        self.opening = uuid.filter(|_| known.is_none());
        self.open = known;
        self.opening
    }

    /// Sets the summary of the open conversation. Ignores that of another one, which arrived too late.
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

    /// Sets the state of a conversation in all pages, and adds it to those it belongs to now.
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

    /// Replaces the list with its reloaded first page and all pinned conversations.
    pub(super) fn renew(&mut self, newest: Conversations, pinned: Vec<ConversationSummary>) {
        let held = self.newest.take().map(|mut held| {
            // Pinned and archived conversations of the older pages are in `pinned` or in the archive now.
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

    /// Adds the page after `cursor`, unless its list was replaced.
    pub(super) fn append(&mut self, view: View, cursor: &str, page: Conversations) {
        let held = match view {
            View::Conversations => &mut self.newest,
            View::Archive => &mut self.archive,
            View::Search => &mut self.found,
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

/// Sorts by time, newest first. Conversations with the same time keep their order.
fn sort(items: &mut [ConversationSummary]) {
    items.sort_by_key(|item| std::cmp::Reverse(item.updated_at));
}

/// Joins the newest page and the older ones that were already loaded.
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

    use super::{Pages, View, joined};

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

    fn shown(pages: &Pages, view: View) -> Vec<u128> {
        pages.shown(view).iter().map(|item| item.uuid.as_u128()).collect()
    }

    #[test]
    fn older_pages_stay_when_the_newest_is_read_again() {
        let held = page(&[(1, 50), (2, 40), (3, 30), (4, 20)], Some("after 4"));
        // 3 has a new message, and 2 is the last of the first page now.
        let newest = page(&[(3, 60), (1, 50), (2, 40)], Some("after 2"));
        assert_eq!(joined(newest, Some(held)), page(&[(3, 60), (1, 50), (2, 40), (4, 20)], Some("after 4")));
    }

    #[test]
    fn a_newest_page_that_is_all_there_is_replaces_what_was_held() {
        let held = page(&[(1, 50), (2, 40)], None);
        assert_eq!(joined(page(&[(1, 50)], None), Some(held.clone())), page(&[(1, 50)], None));
        assert_eq!(joined(held.clone(), None), held);
    }

    #[test]
    fn pinned_ones_stand_first_however_old_they_are_and_the_archive_is_apart() {
        let mut pages = Pages::default();
        pages.renew(page(&[(1, 50), (2, 40)], Some("after 2")), vec![pinned(9, 5)]);
        assert_eq!(shown(&pages, View::Conversations), [9, 1, 2]);
        pages.append(View::Conversations, "after 2", page(&[(3, 30), (9, 5)], None));
        assert_eq!(shown(&pages, View::Conversations), [9, 1, 2, 3], "no conversation is listed twice");

        pages.put(&pinned(2, 40));
        assert_eq!(shown(&pages, View::Conversations), [2, 9, 1, 3]);
        let put_away = ConversationSummary { archived: true, ..summary(1, 50) };
        pages.archive = Some(page(&[], None));
        pages.put(&put_away);
        assert_eq!((shown(&pages, View::Conversations), shown(&pages, View::Archive)), (vec![2, 9, 3], vec![1]));
        pages.put(&summary(1, 50));
        assert_eq!((shown(&pages, View::Conversations), shown(&pages, View::Archive)), (vec![2, 9, 1, 3], vec![]));
    }

    #[test]
    fn what_is_no_longer_pinned_or_was_deleted_is_gone_once_the_list_was_read_again() {
        let mut pages = Pages::default();
        pages.renew(page(&[(1, 50)], Some("after 1")), vec![pinned(8, 6), pinned(9, 5)]);
        pages.renew(page(&[(1, 50)], Some("after 1")), vec![pinned(9, 5)]);
        assert_eq!(shown(&pages, View::Conversations), [9, 1]);
    }

    #[test]
    fn what_leaves_one_list_comes_back_into_another_that_does_not_have_it() {
        let mut pages = Pages { archive: Some(page(&[(7, 70)], None)), ..Pages::default() };
        pages.renew(page(&[(1, 50)], None), Vec::new());
        pages.put(&summary(7, 70));
        assert_eq!((shown(&pages, View::Conversations), shown(&pages, View::Archive)), (vec![7, 1], vec![]));
    }

    #[test]
    fn the_list_has_the_open_one_however_old_it_is() {
        let mut pages = Pages { newest: Some(page(&[(1, 50), (2, 40)], Some("after 2"))), ..Pages::default() };
        pages.open = Some(summary(7, 1));
        assert_eq!(shown(&pages, View::Conversations), [1, 2, 7]);
        pages.append(View::Conversations, "after 2", page(&[(3, 30), (7, 1)], None));
        assert_eq!(shown(&pages, View::Conversations), [1, 2, 3, 7], "it is there once");
        pages.open = Some(ConversationSummary { archived: true, ..summary(8, 45) });
        assert_eq!(shown(&pages, View::Conversations), [1, 2, 3, 7], "the archive has it");
        assert_eq!(shown(&Pages { open: pages.open, ..Pages::default() }, View::Conversations), [] as [u128; 0]);
    }

    #[test]
    fn a_summary_that_comes_after_another_conversation_was_opened_changes_nothing() {
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
    fn the_open_one_is_known_though_no_page_has_it() {
        let mut pages = Pages { open: Some(summary(5, 1)), ..Pages::default() };
        pages.change(Uuid::from_u128(5), &|item| item.archived = true);
        assert!(pages.find(Uuid::from_u128(5)).is_some_and(|item| item.archived));
        pages.remove(Uuid::from_u128(5));
        assert_eq!(pages.find(Uuid::from_u128(5)), None);
    }
}
