//! Runs a search in the browser: pauses, requests, and the signal with its state.

use std::time::Duration;

use futures_util::future::AbortHandle;
use leptos::prelude::*;
use uuid::Uuid;

use super::{Search, SearchEffect, SearchInput};
use crate::{api, browser, task::spawn};

/// Time without a key press after which a search starts.
const TYPING_PAUSE: Duration = Duration::from_millis(250);

/// A search on the page. Its signals belong to the component that created it, and its task ends with that component.
#[derive(Clone, Copy)]
pub(crate) struct Finder {
    /// The state of the search.
    pub(crate) search: RwSignal<Search>,
    /// The conversation to search; `None` for all conversations.
    conversation: Option<Uuid>,
    task: StoredValue<Option<AbortHandle>>,
}

impl Finder {
    /// Creates a search of one conversation, or of all. It has no query yet.
    pub(crate) fn new(conversation: Option<Uuid>) -> Self {
        let finder = Self { search: RwSignal::default(), conversation, task: StoredValue::new(None) };
        on_cleanup(move || finder.let_go());
        finder
    }

    /// Searches for `words` once the user stops typing.
    pub(crate) fn search_for(self, words: String) {
        self.feed(SearchInput::Typed(words));
    }

    /// Loads more matches, or retries.
    pub(crate) fn find_more(self) {
        self.feed(SearchInput::More);
    }

    fn feed(self, input: SearchInput) {
        let Some(Some(effect)) = self.search.try_update(|search| search.take(input)) else { return };
        self.let_go();
        let task = match effect {
            SearchEffect::LetGo => return,
            SearchEffect::Pause(ticket) => spawn(async move {
                browser::sleep(TYPING_PAUSE).await;
                self.feed(SearchInput::Paused(ticket));
            }),
            SearchEffect::Ask(ticket, query, cursor) => spawn(async move {
                let found = api::search(self.conversation, &query, cursor.as_deref()).await;
                self.feed(SearchInput::Found(ticket, found));
            }),
        };
        self.task.set_value(Some(task));
    }

    fn let_go(self) {
        if let Some(Some(task)) = self.task.try_update_value(Option::take) {
            task.abort();
        }
    }
}
