//! Loads the list's data from the server: the newest conversations, further pages, the archive, and search results. A
//! response that was overtaken by a later request changes nothing.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{ConversationSummary, Page};
use uuid::Uuid;

use super::{
    NO_MESSAGES,
    pages::{ListView, Pages},
    state::ConversationList,
    writes::Writes,
};
use crate::{
    api::{self, ApiError, Listed},
    browser,
    data::PageError,
};

/// Time without a key press after which a search starts.
const TYPING_PAUSE: Duration = Duration::from_millis(200);
/// Pause before a refresh, so that several events at once cause a single request.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

impl ConversationList {
    /// Loads the newest conversations again, after a short pause.
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
            let open = self.writes.with_value(Writes::open);
            let newest = newest_and_pinned().await;
            let refetched = self.refetch_open(&open.doubted).await;
            if self.asked.try_get_value() != Some(number) {
                return;
            }
            let meanwhile = self.meanwhile.try_update_value(Option::take).flatten();
            // If a refresh fails, the previous list stays.
            match newest {
                Ok((page, pinned)) => {
                    self.calendar.set(browser::calendar());
                    self.error.set(None);
                    self.replace(|pages| {
                        pages.renew(page, pinned);
                        if let Some(open) = refetched {
                            pages.put(&open);
                        }
                    });
                    for event in meanwhile.unwrap_or_default() {
                        self.apply(event);
                    }
                    self.writes.update_value(|writes| writes.settle(&open));
                    self.show_pending();
                }
                Err(error) if self.pages.with_untracked(|pages| pages.newest.is_none()) => {
                    self.error.set(Some(PageError::new(error.message(self.text))));
                }
                Err(_) => {}
            }
        });
    }

    /// Replaces pages by a response of the server. Conversations with pending changes stay, even if the response lacks
    /// them, because it may be older than these changes: a row that disappears for a moment would lose the focus.
    fn replace(self, change: impl FnOnce(&mut Pages)) {
        let pending = self.writes.try_with_value(Writes::pending).unwrap_or_default();
        self.pages.try_update(|pages| {
            let changed: Vec<_> = pending.iter().filter_map(|(uuid, _)| pages.find(*uuid).cloned()).collect();
            change(pages);
            for item in changed {
                if pages.find(item.uuid).is_none() {
                    pages.put(&item);
                }
            }
        });
    }

    /// Loads the open conversation if it is among the `doubted` ones, because it may be in no list.
    async fn refetch_open(self, doubted: &[Uuid]) -> Option<ConversationSummary> {
        let open = self.pages.try_with_untracked(|pages| pages.open.as_ref().map(|open| open.uuid)).flatten();
        let open = open.filter(|open| doubted.contains(open))?;
        Some(api::find_conversation(open, NO_MESSAGES).await.ok()??.summary)
    }

    /// Loads the next page of the shown view.
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

    /// Shows the archive and loads it again, or shows the list.
    pub(crate) fn show_archive(self, is_shown: bool) {
        self.notice.set(None);
        self.selection.set(None);
        self.in_archive.set(is_shown);
        if is_shown {
            self.search_for(String::new());
            self.refresh_archive();
        }
    }

    /// Loads the archive again if it is shown.
    pub(super) fn refresh_archive(self) {
        if self.in_archive.try_get_untracked() != Some(true) {
            return;
        }
        spawn_local(async move {
            match api::list_conversations(Listed::Archived, None).await {
                Ok(page) => {
                    self.replace(|pages| pages.archive = Some(page));
                    self.show_pending();
                }
                Err(error) => drop(self.notice.try_set(Some(error.message(self.text)))),
            }
        });
    }

    /// Searches for `words` once the user stops typing.
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
}

/// Loads the first page of the list. If there are further pages, also loads the pinned conversations.
async fn newest_and_pinned() -> Result<(Page<ConversationSummary>, Vec<ConversationSummary>), ApiError> {
    let newest = api::list_conversations(Listed::Newest, None).await?;
    let pinned = match newest.next_cursor {
        Some(_) => api::list_conversations(Listed::Pinned, None).await?.items,
        None => Vec::new(),
    };
    Ok((newest, pinned))
}

fn listed(view: ListView, search: &str) -> Listed<'_> {
    match view {
        ListView::Conversations => Listed::Newest,
        ListView::Archive => Listed::Archived,
        ListView::Search => Listed::Matching(search.trim()),
    }
}
