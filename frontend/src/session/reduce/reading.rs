//! Reading a running turn along to its end, over as many connections as it takes, and catching up with what is stored.

use tallybook_protocol::{ChatEvent, Conversation, MessageId, Window};
use uuid::Uuid;

use super::{
    super::{
        effect::{Effect, Request},
        state::{Look, Place, Reader, State},
    },
    LOUD, QUIET,
};
use crate::{
    api::ApiError,
    data::{MESSAGES_AT_ONCE, NEWEST},
    transcript::{Transcript, fold},
};

/// After so many failed attempts in a row, with pauses of up to [`MAX_PAUSE_SECS`], the page asks to be reloaded.
const MAX_ATTEMPTS: u32 = 120;
const MAX_PAUSE_SECS: u64 = 30;
/// The first look at a conversation.
const FIRST: Reader = Reader::Looking(Look { is_quiet: false, is_small: false });
/// A look at what may have changed is at no more messages than it has to be.
const FEW: u32 = 2;

impl State {
    /// Nothing runs any more.
    pub(super) fn rest(&mut self, out: &mut Vec<Effect>) {
        self.settle(out);
        if self.is_stale {
            self.look(QUIET, out);
        }
    }

    fn settle(&mut self, out: &mut Vec<Effect>) {
        self.reader = Reader::Resting;
        self.begins = false;
        self.stopping = false;
        self.is_stop_wanted = false;
        self.attempt = 0;
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

    pub(super) fn found(&mut self, found: Result<Option<Conversation>, ApiError>, look: Look, out: &mut Vec<Effect>) {
        if let Place::Loading(uuid) | Place::Failed(uuid, _) = self.place {
            return self.loaded(uuid, found, out);
        }
        match found {
            Ok(Some(stored)) if look.is_small && !self.transcript.joins(&stored) => {
                self.look(Look { is_small: false, ..look }, out);
            }
            Ok(Some(stored)) => {
                self.refresh(stored, out);
                if !look.is_quiet {
                    // What was said about the connection is out of date.
                    self.notice = None;
                }
                if self.begins {
                    // What was sent is stored.
                    self.began();
                }
                self.drop_what_was_stored();
                self.go_on(out);
            }
            Ok(None) => self.deleted(out),
            Err(_) if look.is_quiet => {
                // Not being told is no news: the list of conversations says that the server is out of reach.
                self.was_not_seen(look);
                self.settle(out);
            }
            Err(_) => self.pause(out),
        }
    }

    /// What a look was to tell is still not known.
    pub(super) fn was_not_seen(&mut self, look: Look) {
        self.is_stale = true;
        self.is_all_stale |= !look.is_small;
    }

    fn loaded(&mut self, uuid: Uuid, found: Result<Option<Conversation>, ApiError>, out: &mut Vec<Effect>) {
        match found {
            Ok(Some(stored)) => {
                self.place = Place::Open(uuid);
                self.attempt = 0;
                self.refresh(stored, out);
                if self.queued.is_none() {
                    self.drop_stored_draft();
                }
                if !self.deliver_queued(out) {
                    self.go_on(out);
                }
            }
            Ok(None) => {
                self.queued.take().into_iter().for_each(|message| self.take_back(message));
                self.place = Place::Missing;
                // What was written for it goes on in a new chat.
                out.push(Effect::AdoptDraft);
            }
            Err(error) => {
                self.queued.take().into_iter().for_each(|message| self.take_back(message));
                self.place = Place::Failed(uuid, error.message(self.text));
                self.pause(out);
            }
        }
    }

    pub(super) fn refresh(&mut self, stored: Conversation, out: &mut Vec<Effect>) {
        self.transcript.refresh(stored);
        out.push(Effect::Draw);
    }

    /// Reads the turn that runs; there may be none.
    pub(super) fn go_on(&mut self, out: &mut Vec<Effect>) {
        if self.transcript.runs() {
            self.feed_told_end = false;
            self.last_event = None;
            self.join(out);
        } else {
            self.rest(out);
        }
    }

    pub(super) fn join(&mut self, out: &mut Vec<Effect>) {
        let Some(uuid) = self.uuid() else { return };
        self.read(Reader::Joining, Request::Join(uuid, self.last_event.clone()), out);
    }

    pub(super) fn joined(&mut self, joined: Result<bool, ApiError>, out: &mut Vec<Effect>) {
        match joined {
            Ok(true) => {
                self.reader = Reader::Streaming;
                self.stop_if_wanted(out);
            }
            // Its end was missed.
            Ok(false) => self.look(LOUD, out),
            Err(error) if error.is_not_found() => self.deleted(out),
            Err(_) => self.pause(out),
        }
    }

    pub(super) fn take_events(&mut self, events: Vec<(Option<String>, ChatEvent)>, out: &mut Vec<Effect>) {
        let (mut began, mut over) = (false, false);
        for (id, event) in events {
            let is_terminal = event.is_terminal();
            if let ChatEvent::Error(error) = &event
                && !is_terminal
            {
                // It concerns this reader: the turn's end is told later, on this connection or the next. Counted like a
                // failed attempt, so that the next event takes the notice away again.
                let words = self.text.turn_error(&error.code).map_or_else(|| error.error.clone(), str::to_owned);
                self.notice = Some(words);
                self.attempt = self.attempt.max(1);
                continue;
            }
            if !self.was_looked_up && self.is_out_of_place(&event) {
                // Something was missed before it, and perhaps the end of another turn.
                self.was_looked_up = true;
                out.push(Effect::Draw);
                return self.look(LOUD, out);
            }
            self.was_looked_up = false;
            if id.is_some() {
                self.last_event = id;
            }
            if std::mem::take(&mut self.attempt) > 0 {
                // The connection is back, so what was said about it is out of date.
                self.notice = None;
            }
            over |= is_terminal;
            began |= matches!(event, ChatEvent::MessageStart(_));
            fold(&mut self.transcript, event);
        }
        if began {
            self.began();
        }
        out.push(if began || over { Effect::Draw } else { Effect::DrawSoon });
        if over && self.begins {
            // The turn's beginning was missed, and with it what was sent as it is stored.
            self.look(LOUD, out);
        } else if over {
            self.rest(out);
        } else if self.transcript.has_gap() {
            // Only a snapshot helps.
            self.last_event = None;
            self.pause(out);
        }
    }

    /// Whether an event tells of a turn that does not stand below what is here.
    fn is_out_of_place(&self, event: &ChatEvent) -> bool {
        let is_unknown = |id: MessageId| self.transcript.find(id).is_none();
        match event {
            ChatEvent::Snapshot(snapshot) => is_unknown(snapshot.assistant_message_id),
            ChatEvent::MessageStart(start) => {
                is_unknown(start.assistant_message_id) && start.parent_id.is_some_and(is_unknown)
            }
            _ => false,
        }
    }

    /// What was sent is stored.
    fn began(&mut self) {
        self.begins = false;
        self.unstored = None;
        self.failed = None;
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

    pub(super) fn second_passed(&mut self, left: u64, out: &mut Vec<Effect>) {
        if left > 1 {
            self.read(Reader::Pausing(left - 1), Request::Second, out);
        } else {
            self.try_again(out);
        }
    }

    fn try_again(&mut self, out: &mut Vec<Effect>) {
        match self.place {
            // What is said of it stays until it is out of date.
            Place::Failed(uuid, _) => self.read(FIRST, Request::Find(uuid, NEWEST), out),
            _ => self.join(out),
        }
    }

    /// Waits no longer for the next attempt.
    pub(super) fn retry(&mut self, out: &mut Vec<Effect>) {
        if let Place::Failed(uuid, _) = self.place {
            self.attempt = 0;
            self.load(uuid, out);
        } else if matches!(self.reader, Reader::Pausing(_)) {
            self.join(out);
        }
    }
}

/// What is here, as it is stored: what was loaded stays loaded, as long as it belongs to the branch that is shown.
pub(super) fn window_from(transcript: &Transcript) -> Window {
    Window { limit: Some(MESSAGES_AT_ONCE), from: transcript.first(), before: None }
}
