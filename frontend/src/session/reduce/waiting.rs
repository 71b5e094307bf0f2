//! Waiting for one thing after another: what everything else that a session decides is made of.

use tallybook_protocol::{Conversation, Window};
use uuid::Uuid;

use super::super::{
    effect::{Effect, Request},
    reader::{Look, Reader, Ticket},
    shown::Place,
    state::State,
};
use crate::{
    data::{MESSAGES_AT_ONCE, NEWEST},
    transcript::Transcript,
};

/// A look at what may have changed, while nothing is known to run.
pub(super) const QUIET: Look = Look { is_quiet: true, is_small: true, is_peek: false };
/// A look at what became of a turn.
pub(super) const LOUD: Look = Look { is_quiet: false, is_small: true, is_peek: false };
/// The same, in a tab that nobody sees.
pub(super) const PEEK: Look = Look { is_peek: true, ..LOUD };
/// The first look at a conversation.
pub(super) const FIRST: Reader = Reader::Looking(Look { is_quiet: false, is_small: false, is_peek: false });
/// A look at what may have changed is at no more messages than it has to be.
const FEW: u32 = 2;
/// After so many failed attempts in a row, with pauses of up to [`MAX_PAUSE_SECS`], the page asks to be reloaded.
const MAX_ATTEMPTS: u32 = 120;
const MAX_PAUSE_SECS: u64 = 30;

impl State {
    /// Waits for `request`, as `reader`, and no longer for anything else.
    pub(super) fn read(&mut self, reader: Reader, request: Request, out: &mut Vec<Effect>) {
        if let Reader::Looking(look) = self.reader
            && !matches!(reader, Reader::Looking(_))
        {
            self.was_not_seen(look);
        }
        self.reader = reader;
        self.reader_ticket = self.ticket();
        out.push(Effect::Read(self.reader_ticket, request));
    }

    /// A number for a request.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.last_ticket.0 += 1;
        self.last_ticket
    }

    /// Waits for nothing any more: what comes of the last request is of no interest.
    pub(super) fn let_go(&mut self, reader: Reader, out: &mut Vec<Effect>) {
        self.reader = reader;
        self.reader_ticket = self.ticket();
        out.push(Effect::LetGo);
    }

    /// Nothing runs any more.
    pub(super) fn rest(&mut self, out: &mut Vec<Effect>) {
        self.settle(out);
        // Of a turn that waits for decisions, what the feed told may have been more than the pause: its end.
        let may_be_over = self.transcript.awaiting().is_some() && std::mem::take(&mut self.feed_told_end);
        if self.is_stale || may_be_over {
            self.look(QUIET, out);
        }
    }

    pub(super) fn settle(&mut self, out: &mut Vec<Effect>) {
        self.reader = Reader::Resting;
        self.forget_failed_stop();
        self.begins = false;
        self.stopping = false;
        self.is_stop_wanted = false;
        self.attempt = 0;
        self.looked_up = None;
        self.queue.arrived();
        if self.transcript.entries().last().is_some_and(|last| last.status.is_cut_off()) {
            // A later answer that ends well does not send them, either.
            self.queue.hold_back();
        }
        if self.unstored.take().is_some() {
            out.push(Effect::Draw);
        }
    }

    /// Loads the conversation for the first time.
    pub(super) fn load(&mut self, uuid: Uuid, out: &mut Vec<Effect>) {
        self.place = Place::Loading(uuid);
        self.is_stale = false;
        self.read(FIRST, Request::Find(uuid, NEWEST), out);
    }

    /// Reads the conversation as it is stored.
    pub(super) fn look(&mut self, look: Look, out: &mut Vec<Effect>) {
        let Place::Open(uuid) = self.place else { return };
        let look = Look { is_small: look.is_small && !self.is_all_stale, ..look };
        let window = if look.is_small {
            // What is above the last message cannot have changed as long as that is still there.
            Window { limit: Some(FEW), from: self.transcript.last(), before: None }
        } else {
            window_from(&self.transcript)
        };
        self.read(Reader::Looking(look), Request::Find(uuid, window), out);
        (self.is_stale, self.is_all_stale) = (false, false);
    }

    /// What a look was to tell is still not known.
    pub(super) fn was_not_seen(&mut self, look: Look) {
        self.is_stale = true;
        self.is_all_stale |= !look.is_small;
    }

    pub(super) fn refresh(&mut self, stored: Conversation, out: &mut Vec<Effect>) {
        self.transcript.refresh(stored);
        out.push(Effect::Draw);
    }

    pub(super) fn join(&mut self, out: &mut Vec<Effect>) {
        let Some(uuid) = self.uuid() else { return };
        self.read(Reader::Joining, Request::Join(uuid, self.last_event.clone()), out);
    }

    /// Waits 1, 2, 4, 8 … seconds before the next attempt, and says so.
    pub(super) fn pause(&mut self, out: &mut Vec<Effect>) {
        self.attempt += 1;
        if self.attempt > MAX_ATTEMPTS {
            self.notice = Some(self.text.connection_lost().to_owned());
            self.is_stale = true;
            return self.settle(out);
        }
        let seconds = 1_u64.checked_shl(self.attempt - 1).unwrap_or(MAX_PAUSE_SECS).min(MAX_PAUSE_SECS);
        self.read(Reader::Pausing(seconds), Request::Second, out);
    }
}

/// What is here, as it is stored: what was loaded stays loaded, as long as it belongs to the branch that is shown.
pub(super) fn window_from(transcript: &Transcript) -> Window {
    Window { limit: Some(MESSAGES_AT_ONCE), from: transcript.first(), before: None }
}
