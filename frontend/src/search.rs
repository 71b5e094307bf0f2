//! Searching in messages and tool calls, in everything or in one conversation: what was typed, and what was found for it,
//! page by page. [`Search::take`] decides and touches no browser; only the `shell` does. Which of the places found one
//! goes to, one after another, is in `walk`.

mod shell;
mod walk;

pub(crate) use shell::Finder;
use tallybook_protocol::{SearchHit, SearchPage};
pub(crate) use walk::{Step, Walk};

use crate::api::ApiError;

/// So many pages are asked for without the reader, while searching takes longer than a page may.
const PAGES_ON_ITS_OWN: u32 = 5;

/// What a search knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// What is searched for.
    query: String,
    /// What was found so far. While another search has no answer, that of the one before.
    hits: Vec<SearchHit>,
    /// What the hits were found for.
    answered: String,
    cursor: Option<String>,
    stage: Stage,
    /// The last request. An answer to another one comes too late.
    ticket: u32,
    /// How many pages were asked for since the reader last asked.
    pages: u32,
}

/// How a search stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is searched for.
    #[default]
    Off,
    /// The reader may type on.
    Typing,
    /// A page is on its way.
    Asking,
    /// There may be more when one asks for it.
    More,
    /// All was searched.
    Done,
    /// It failed; in words for the reader.
    Failed(ApiError),
}

/// What happens to a search.
#[derive(Debug)]
pub(crate) enum Input {
    /// This is in the field now.
    Typed(String),
    /// Nothing was typed for a while.
    Paused(u32),
    /// A page is here.
    Found(u32, Result<SearchPage, ApiError>),
    /// The reader wants more, or another attempt.
    More,
}

/// What is to be done, in place of what was being done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Wait until nothing was typed for a while.
    Pause(u32),
    /// Ask for the page of this query after this cursor.
    Ask(u32, String, Option<String>),
    /// Nothing.
    LetGo,
}

impl Search {
    /// How it stands.
    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// What was found so far.
    pub(crate) fn hits(&self) -> &[SearchHit] {
        &self.hits
    }

    /// What that was found for.
    pub(crate) fn answered(&self) -> &str {
        &self.answered
    }

    /// Whether there may be more than was found.
    pub(crate) fn has_more(&self) -> bool {
        self.cursor.is_some()
    }

    /// Takes what happened, and returns what is to be done.
    pub(crate) fn take(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Typed(typed) => self.typed(typed.trim()),
            Input::Paused(ticket) if ticket == self.ticket && self.stage == Stage::Typing => Some(self.ask()),
            Input::Found(ticket, found) if ticket == self.ticket && self.stage == Stage::Asking => self.found(found),
            // Of what is no longer waited for nothing is of interest.
            Input::Paused(_) | Input::Found(..) => None,
            Input::More => {
                self.pages = 0;
                matches!(self.stage, Stage::More | Stage::Failed(_)).then(|| self.ask())
            }
        }
    }

    fn typed(&mut self, query: &str) -> Option<Effect> {
        if query == self.query {
            return None;
        }
        self.ticket = self.ticket.wrapping_add(1);
        query.clone_into(&mut self.query);
        (self.cursor, self.pages) = (None, 0);
        if query.is_empty() {
            *self = Self { ticket: self.ticket, ..Self::default() };
            return Some(Effect::LetGo);
        }
        self.stage = Stage::Typing;
        Some(Effect::Pause(self.ticket))
    }

    fn ask(&mut self) -> Effect {
        self.ticket = self.ticket.wrapping_add(1);
        self.pages += 1;
        self.stage = Stage::Asking;
        Effect::Ask(self.ticket, self.query.clone(), self.cursor.clone())
    }

    fn found(&mut self, found: Result<SearchPage, ApiError>) -> Option<Effect> {
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
