//! Search in messages and tool calls, of all conversations or of one. [`Search::take`] makes all decisions without a
//! browser, and `shell` carries them out. `walk` goes from one match to the next.

mod shell;
mod walk;

pub(crate) use shell::Finder;
use tallybook_protocol::{SearchHit, SearchPage};
pub(crate) use walk::{SearchStep, Walk};

use crate::api::ApiError;

/// Maximum number of pages that are requested automatically, while the server needs several requests for one search.
const PAGES_ON_ITS_OWN: u32 = 5;

/// The state of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The text to search for.
    query: String,
    /// The matches so far. Until the first response to a new query, those of the previous query.
    hits: Vec<SearchHit>,
    /// The query of these matches.
    answered: String,
    cursor: Option<String>,
    stage: Stage,
    /// Number of the last request. Responses to earlier requests are ignored.
    ticket: u32,
    /// Number of pages that were requested since the user's last request.
    pages: u32,
}

/// The stage of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is searched for.
    #[default]
    Off,
    /// The user may still be typing.
    Typing,
    /// A page is being loaded.
    Asking,
    /// There may be more matches, which are loaded when the user asks for them.
    More,
    /// Everything was searched.
    Done,
    /// The last request failed.
    Failed(ApiError),
}

/// An event that a search reacts to.
#[derive(Debug)]
pub(crate) enum SearchInput {
    /// The text of the search field changed.
    Typed(String),
    /// Nothing was typed for a while.
    Paused(u32),
    /// A page was loaded, or could not be.
    Found(u32, Result<SearchPage, ApiError>),
    /// The user wants more matches, or another attempt.
    More,
}

/// An action outside the state. It replaces the previous one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SearchEffect {
    /// Wait until nothing was typed for a while.
    Pause(u32),
    /// Request the page of this query after this cursor.
    Ask(u32, String, Option<String>),
    /// Abort the previous action.
    LetGo,
}

impl Search {
    /// Returns the stage.
    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Returns the matches so far.
    pub(crate) fn hits(&self) -> &[SearchHit] {
        &self.hits
    }

    /// Returns the query of these matches.
    pub(crate) fn answered(&self) -> &str {
        &self.answered
    }

    /// Returns `true` if there may be more matches.
    pub(crate) fn has_more(&self) -> bool {
        self.cursor.is_some()
    }

    /// Applies an input to the state, and returns the effect to carry out.
    pub(crate) fn take(&mut self, input: SearchInput) -> Option<SearchEffect> {
        match input {
            SearchInput::Typed(typed) => self.typed(typed.trim()),
            SearchInput::Paused(ticket) if ticket == self.ticket && self.stage == Stage::Typing => Some(self.ask()),
            SearchInput::Found(ticket, found) if ticket == self.ticket && self.stage == Stage::Asking => {
                self.found(found)
            }
            // The search no longer waits for this.
            SearchInput::Paused(_) | SearchInput::Found(..) => None,
            SearchInput::More => {
                self.pages = 0;
                matches!(self.stage, Stage::More | Stage::Failed(_)).then(|| self.ask())
            }
        }
    }

    fn typed(&mut self, query: &str) -> Option<SearchEffect> {
        if query == self.query {
            return None;
        }
        self.ticket = self.ticket.wrapping_add(1);
        query.clone_into(&mut self.query);
        (self.cursor, self.pages) = (None, 0);
        if query.is_empty() {
            *self = Self { ticket: self.ticket, ..Self::default() };
            return Some(SearchEffect::LetGo);
        }
        self.stage = Stage::Typing;
        Some(SearchEffect::Pause(self.ticket))
    }

    fn ask(&mut self) -> SearchEffect {
        self.ticket = self.ticket.wrapping_add(1);
        self.pages += 1;
        self.stage = Stage::Asking;
        SearchEffect::Ask(self.ticket, self.query.clone(), self.cursor.clone())
    }

    fn found(&mut self, found: Result<SearchPage, ApiError>) -> Option<SearchEffect> {
        if self.cursor.is_none() {
            self.hits.clear();
            self.answered.clone_from(&self.query);
        }
        let page = match found {
            Ok(page) => page,
            Err(error) => {
                self.stage = Stage::Failed(error);
                return None;
            }
        };
        self.hits.extend(page.items);
        self.cursor = page.next_cursor;
        if self.cursor.is_some() && !page.complete && self.pages < PAGES_ON_ITS_OWN {
            return Some(self.ask());
        }
        self.stage = if self.cursor.is_some() { Stage::More } else { Stage::Done };
        None
    }
}

#[cfg(test)]
mod tests;
