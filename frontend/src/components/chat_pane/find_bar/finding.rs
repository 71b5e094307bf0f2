//! Finds a phrase in the open conversation: counts its places, in loaded messages on the page and in others by the
//! server's hits, and goes from one to the next.

use leptos::prelude::*;
use tallybook_protocol::SearchHit;
use uuid::Uuid;

use crate::{
    goal::Goal,
    highlight::{self, Mark},
    language::Language,
    mount_schedule::in_next_frame,
    phrase::{MAX_PLACES, Phrase},
    places::{self, Match},
    reactive::{effect, memo},
    reveal,
    search::{Finder, SearchStep, Stage, Walk},
    session::Session,
    transcript::Transcript,
};

/// Maximum number of pages of hits that are loaded without an action of the user.
const MAX_PAGES: u32 = 20;

/// Places found for a phrase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counted {
    /// The phrase when the places were counted.
    typed: String,
    /// Each place, in the order of the conversation.
    goals: Vec<Goal>,
    /// So many at the beginning are messages that are not loaded. Each counts as one place until it is.
    not_loaded: usize,
    /// `true` while a request for more places runs.
    is_asking: bool,
    /// `true` if there may be more places.
    has_more: bool,
}

/// State of the server's search in messages that are not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FindProgress {
    Asking,
    /// The next page is to be asked for.
    Unfinished,
    Done,
    Failed,
}

/// Finding a phrase, as long as the bar is open.
#[derive(Clone, Copy)]
pub(super) struct Finding {
    conversation: Uuid,
    session: Session,
    typed: RwSignal<String>,
    counted: RwSignal<Counted>,
    walk: RwSignal<Walk>,
    /// Finds the messages that are not loaded.
    finder: Finder,
    /// The pages that it was asked for since something was typed.
    pages: StoredValue<u32>,
}

impl Finding {
    /// Finds nothing yet. Ends with the component that calls this.
    pub(super) fn new(conversation: Uuid, session: Session) -> Self {
        let finding = Self {
            conversation,
            session,
            typed: RwSignal::default(),
            counted: RwSignal::default(),
            walk: RwSignal::default(),
            finder: Finder::new(Some(conversation)),
            pages: StoredValue::new(0),
        };
        // A text that grows is counted when it is complete, or at the next step.
        let loaded = memo(move |_| {
            let loaded = session.transcript.with(|shown| (shown.first(), shown.last(), shown.entries().len()));
            (loaded, session.is_busy())
        });
        effect(move || {
            // Read, since a memo that was never read follows nothing.
            let _ = loaded.get();
            finding.typed.track();
            finding.finder.search.track();
            in_next_frame(move || finding.count());
        });
        on_cleanup(|| highlight::clear(Mark::Place));
        finding
    }

    /// Looks for what is typed now.
    pub(super) fn look_for(self, typed: String) {
        self.pages.set_value(0);
        self.walk.set(Walk::default());
        let has_earlier = self.session.transcript.with_untracked(Transcript::has_earlier);
        self.finder.search_for(if has_earlier { query_of(&typed) } else { String::new() });
        self.typed.set(typed);
    }

    /// Counts the places again, and begins with one of them unless one is shown.
    fn count(self) {
        // Gone with the bar.
        let Some(typed) = self.typed.try_get_untracked() else { return };
        let Some(phrase) = Phrase::new(&typed) else {
            highlight::clear(Mark::Place);
            reveal::forget();
            return self.counted.set(Counted { typed, ..Counted::default() });
        };
        let counted = self.find(typed, &phrase);
        let shown = self.shown();
        let now = shown.and_then(|shown| counted.goals.iter().position(|goal| is_same(goal, &shown)));
        let (not_loaded, count, is_asking) = (counted.not_loaded, counted.goals.len(), counted.is_asking);
        if self.counted.with_untracked(|before| *before != counted) {
            self.counted.set(counted);
        }
        if self.walk.with_untracked(|walk| walk.at().is_some()) {
            self.walk.update(|walk| walk.keep(now, count));
        } else if count > not_loaded || count > 0 && !is_asking {
            self.walk.set(Walk::begin(not_loaded, count));
            self.go();
        } else {
            reveal::forget();
        }
    }

    fn find(self, typed: String, phrase: &Phrase) -> Counted {
        let places = self.session.transcript.with_untracked(|shown| places::find(shown, phrase));
        let is_capped = places.len() == MAX_PLACES;
        let goal = |place: Match| Goal {
            conversation: self.conversation,
            message: place.message,
            call: place.call,
            words: Vec::new(),
            phrase: Some((phrase.clone(), place.nth)),
            offset: None,
            takes_focus: false,
        };
        let is_loaded = |message| self.session.transcript.with_untracked(|shown| shown.find(message).is_some());
        let query = query_of(&typed);
        let (elsewhere, progress) = self.finder.search.with_untracked(|search| {
            // Until there is an answer, the hits are those of what was typed before.
            let hits = if search.answered() == query { search.hits() } else { &[] };
            let elsewhere = |hit: &&SearchHit| hit.shown && !hit.message_id.is_some_and(is_loaded);
            let place = |hit: &SearchHit| Some(Match { message: hit.message_id?, call: hit.tool_call_id, nth: 0 });
            let found: Vec<Match> = hits.iter().filter(elsewhere).filter_map(place).collect();
            // Hits come in the order of the conversation: behind a loaded one all are loaded.
            let reaches_loaded = hits.last().and_then(|hit| hit.message_id).is_some_and(is_loaded);
            match search.stage() {
                Stage::Typing | Stage::Asking => (found, FindProgress::Asking),
                Stage::More if !reaches_loaded => (found, FindProgress::Unfinished),
                Stage::Off | Stage::More | Stage::Done => (found, FindProgress::Done),
                Stage::Failed(_) => (found, FindProgress::Failed),
            }
        });
        let is_asking = progress == FindProgress::Asking || progress == FindProgress::Unfinished && self.find_more();
        let has_more = is_capped || progress != FindProgress::Done;
        let not_loaded = elsewhere.len();
        let goals: Vec<Goal> = elsewhere.into_iter().chain(places).map(goal).collect();
        Counted { typed, goals, not_loaded, is_asking, has_more }
    }

    /// Asks for the next page of hits. Returns `false` if there were too many pages already.
    fn find_more(self) -> bool {
        let pages = self.pages.get_value();
        if pages == MAX_PAGES {
            return false;
        }
        self.pages.set_value(pages + 1);
        let finder = self.finder;
        // What is found leads back to here.
        in_next_frame(move || finder.find_more());
        true
    }

    /// The place that is shown.
    fn shown(self) -> Option<Goal> {
        let at = self.walk.get_untracked().at()?;
        self.counted.with_untracked(|counted| counted.goals.get(at).cloned())
    }

    fn go(self) {
        if let Some(goal) = self.shown() {
            self.session.go_to(goal);
        }
    }

    /// Goes to the next or previous place.
    pub(super) fn step(self, step: SearchStep) {
        self.count();
        let count = self.counted.with_untracked(|counted| counted.goals.len());
        self.walk.update(|walk| {
            walk.step(step, count);
        });
        self.go();
    }

    /// Returns `true` if there is a place to go to.
    pub(super) fn has_places(self) -> bool {
        self.counted.with(|counted| !counted.goals.is_empty())
    }

    /// Says which of how many places is shown, or why there is none.
    pub(super) fn said(self, text: Language) -> String {
        let at = self.walk.get().at();
        let stage = self.finder.search.with(|search| search.stage().clone());
        let is_counted = self.typed.with(|typed| self.counted.with(|counted| counted.typed == *typed));
        self.counted.with(|counted| match (at, stage) {
            _ if self.typed.with(|typed| Phrase::new(typed).is_none()) => String::new(),
            (Some(at), _) if is_counted => {
                text.match_of(at + 1, counted.goals.len(), counted.has_more || counted.not_loaded > 0)
            }
            (None, Stage::Failed(error)) => error.message(text),
            (None, _) if is_counted && !counted.is_asking => text.no_match().to_owned(),
            _ => text.searching().to_owned(),
        })
    }
}

fn is_same(one: &Goal, other: &Goal) -> bool {
    let nth = |goal: &Goal| goal.phrase.as_ref().map(|(_, nth)| *nth);
    (one.message, one.call, nth(one)) == (other.message, other.call, nth(other))
}

/// The search by which the server finds the messages with a phrase, and perhaps others: it cannot look for quotes.
fn query_of(typed: &str) -> String {
    let pieces = typed.split('"').map(str::trim).filter(|piece| !piece.is_empty());
    pieces.map(|piece| format!("\"{piece}\"")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::query_of;

    #[test]
    fn the_server_is_asked_for_the_phrase() {
        for (typed, query) in
            [("what is", "\"what is\""), (" tax ", "\"tax\""), ("say \"yes\"", "\"say\" \"yes\""), ("\"", ""), ("", "")]
        {
            assert_eq!(query_of(typed), query);
        }
    }
}
