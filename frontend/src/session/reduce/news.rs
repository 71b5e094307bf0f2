//! What happens elsewhere: to the conversation, to the tab, to the network.

use tallybook_protocol::FeedKind;

use super::{
    super::{
        effect::Effect,
        state::{Loading, Look, Place, Reader, State, joined},
    },
    LOUD, QUIET,
};
use crate::feed::News;

impl State {
    /// Catches up with what happened to the conversation elsewhere, and follows the turn that runs in it.
    pub(super) fn hear(&mut self, news: &News, out: &mut Vec<Effect>) {
        let event = match news {
            News::Missed => return self.catch_up(out),
            News::Event(event) => event,
        };
        if self.uuid() != Some(event.conversation_id) {
            return;
        }
        match event.kind {
            FeedKind::ConversationDeleted => self.deleted(out),
            FeedKind::BranchSelected => self.catch_up(out),
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
        matches!(self.reader, Reader::Asking(_) | Reader::Joining | Reader::Streaming | Reader::Pausing(_))
    }

    /// Looks at what may have changed, now or as soon as nothing is under way.
    fn catch_up(&mut self, out: &mut Vec<Effect>) {
        match (&self.place, &self.reader) {
            (Place::Open(_), Reader::Resting) => self.look(QUIET, out),
            (Place::Failed(..), _) => self.retry(out),
            (_, reader) => {
                self.is_all_stale |= !matches!(reader, Reader::Looking(_));
                self.is_stale = true;
            }
        }
    }

    /// The conversation is gone. What was written in it goes on in a new chat.
    pub(super) fn deleted(&mut self, out: &mut Vec<Effect>) {
        if self.place == Place::Deleted {
            return;
        }
        self.queued = None;
        if let Some(unstored) = self.unstored.take() {
            self.draft = joined(&unstored, &self.draft);
        }
        if let Some(edited) = self.edited.take() {
            self.draft = joined(&edited.text, &self.draft);
        }
        (self.notice, self.failed, self.begins) = (None, None, false);
        (self.is_stale, self.is_all_stale) = (false, false);
        (self.stopping, self.is_stop_wanted) = (false, false);
        (self.coming, self.earlier) = (None, Loading::Idle);
        self.place = Place::Deleted;
        self.let_go(Reader::Resting, out);
        out.extend([Effect::AdoptDraft, Effect::Draw]);
        if std::mem::take(&mut self.is_leaving) {
            out.push(Effect::OpenNewChat);
        }
    }

    pub(super) fn adopt(&mut self, draft: &str) {
        if matches!(self.place, Place::Deleted | Place::Missing) && draft != self.draft {
            self.draft = joined(draft, &self.draft);
        }
    }

    /// A hidden tab needs no connection; it catches up when it is shown.
    pub(super) fn attend(&mut self, is_hidden: bool, out: &mut Vec<Effect>) {
        match (is_hidden, &self.reader) {
            (
                true,
                Reader::Streaming
                | Reader::Joining
                | Reader::Pausing(_)
                | Reader::Looking(Look { is_quiet: false, .. }),
            ) if self.unstored.is_none() && matches!(self.place, Place::Open(_)) => {
                self.let_go(Reader::Hidden, out);
            }
            (false, Reader::Hidden) => self.look(LOUD, out),
            _ => {}
        }
    }

    /// There is a network again, so nothing need be waited for.
    pub(super) fn come_online(&mut self, out: &mut Vec<Effect>) {
        if self.is_stale && self.reader == Reader::Resting {
            self.look(QUIET, out);
        } else {
            self.retry(out);
        }
    }
}
