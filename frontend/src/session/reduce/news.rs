//! What happens elsewhere: to the conversation, to the tab, to the network.

use tallybook_protocol::FeedKind;

use super::{
    super::{
        effect::{Effect, Request},
        reader::Reader,
        shown::Place,
        state::State,
    },
    waiting::{LOUD, QUIET},
};
use crate::feed::News;

impl State {
    /// Catches up with what happened to the conversation elsewhere, and follows the turn that runs in it.
    pub(super) fn hear(&mut self, news: &News, out: &mut Vec<Effect>) {
        let event = match news {
            News::Missed => {
                self.is_reachable_again();
                return self.catch_up(out);
            }
            News::Event(event) => event,
        };
        if self.uuid() != Some(event.conversation_id) {
            return;
        }
        match event.kind {
            FeedKind::ConversationDeleted => self.deleted(out),
            FeedKind::BranchSelected => {
                // Messages above the last one may have got another version, too.
                self.is_all_stale = true;
                self.catch_up(out);
            }
            // A turn that has paused ends when it is stopped elsewhere.
            FeedKind::TurnEnded | FeedKind::ConversationUpdated if self.transcript.awaiting().is_some() => {
                self.catch_up(out);
            }
            // Nothing but the next poll would show it.
            FeedKind::TurnEnded if self.reader == Reader::Crowded => self.look(LOUD, out),
            FeedKind::TurnEnded => self.feed_told_end = true,
            // The one that is being read, unless that is known to have ended.
            FeedKind::TurnStarted if self.reads_a_turn() && !self.feed_told_end => {}
            FeedKind::TurnStarted => {
                self.feed_told_end = false;
                self.catch_up(out);
            }
            FeedKind::ConversationCreated
            | FeedKind::ConversationRenamed
            | FeedKind::ConversationUpdated
            | FeedKind::Unknown => {}
        }
    }

    fn reads_a_turn(&self) -> bool {
        matches!(
            self.reader,
            Reader::Asking(_) | Reader::Joining | Reader::Streaming | Reader::Crowded | Reader::Pausing(_)
        )
    }

    /// Looks at what may have changed, now or as soon as nothing is under way.
    fn catch_up(&mut self, out: &mut Vec<Effect>) {
        match (&self.place, &self.reader) {
            (Place::Open(_), Reader::Resting) => self.look(QUIET, out),
            (Place::Failed(..), _) => self.retry(out),
            _ => self.is_stale = true,
        }
    }

    /// What was said of a server that is out of reach is out of date.
    fn is_reachable_again(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice != self.text.unreachable());
    }

    pub(super) fn attend(&mut self, is_hidden: bool, out: &mut Vec<Effect>) {
        self.is_hidden = is_hidden;
        if !is_hidden && self.reader == Reader::Hidden {
            self.look(LOUD, out);
        }
    }

    /// A hidden tab needs no connection. It looks now and then whether the turn is over, since something may wait for that.
    pub(super) fn hide(&mut self, out: &mut Vec<Effect>) {
        let reads = match self.reader {
            Reader::Streaming | Reader::Joining | Reader::Crowded | Reader::Pausing(_) => true,
            Reader::Looking(look) => !look.is_quiet && !look.is_peek,
            _ => false,
        };
        if self.is_hidden && reads && self.unstored.is_none() && matches!(self.place, Place::Open(_)) {
            self.read(Reader::Hidden, Request::HiddenPause, out);
        }
    }

    /// There is a network again, so nothing need be waited for.
    pub(super) fn come_online(&mut self, out: &mut Vec<Effect>) {
        self.is_reachable_again();
        if self.is_stale && self.reader == Reader::Resting {
            self.look(QUIET, out);
        } else {
            self.retry(out);
        }
    }
}
