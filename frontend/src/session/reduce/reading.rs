//! Reading a running turn along to its end, over as many connections as it takes, and catching up with what is stored.

use tallybook_protocol::{ChatEvent, Conversation, MessageId};
use uuid::Uuid;

use super::{
    super::{
        effect::{Effect, Request},
        reader::{Look, Reader},
        shown::Place,
        state::State,
    },
    waiting::{FIRST, LOUD},
};
use crate::{api::ApiError, data::NEWEST, reading::Events, transcript::fold};

impl State {
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
                    self.forget_connection_notice();
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
            Err(_) if look.is_peek => self.read(Reader::Hidden, Request::HiddenPause, out),
            Err(_) => self.pause(out),
        }
    }

    fn loaded(&mut self, uuid: Uuid, found: Result<Option<Conversation>, ApiError>, out: &mut Vec<Effect>) {
        match found {
            Ok(Some(stored)) => {
                self.place = Place::Open(uuid);
                self.attempt = 0;
                let newest = self.newest_of(stored);
                self.refresh(newest, out);
                self.draw_newest_first(out);
                if self.held.is_none() {
                    self.drop_what_was_stored();
                }
                if !self.deliver_held(out) {
                    self.go_on(out);
                }
            }
            Ok(None) => {
                self.held.take().into_iter().for_each(|message| self.take_back(message));
                self.place = Place::Missing;
                self.goal = None;
                self.queue_into_draft();
                // What was written for it goes on in a new chat.
                out.push(Effect::AdoptDraft);
            }
            Err(error) => {
                self.held.take().into_iter().for_each(|message| self.take_back(message));
                self.place = Place::Failed(uuid, error.message(self.text));
                self.pause(out);
            }
        }
    }

    /// Reads the turn that runs; there may be none.
    pub(super) fn go_on(&mut self, out: &mut Vec<Effect>) {
        if self.transcript.runs() {
            self.feed_told_end = false;
            self.queue.waits = false;
            self.last_event = None;
            self.join(out);
        } else {
            self.rest(out);
        }
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

    pub(super) fn take_events(&mut self, events: Events, out: &mut Vec<Effect>) {
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
            if let Some(answer) = self.out_of_place(&event).filter(|answer| self.looked_up != Some(*answer)) {
                // Something was missed before it, and perhaps the end of another turn.
                self.looked_up = Some(answer);
                out.push(Effect::Draw);
                return self.look(LOUD, out);
            }
            self.looked_up = None;
            if id.is_some() {
                self.last_event = id;
            }
            if std::mem::take(&mut self.attempt) > 0 {
                self.forget_connection_notice();
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

    /// Removes what was said about the connection, which is back. Where an edited text went is still news then.
    fn forget_connection_notice(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice == self.text.edit_moved());
    }

    /// The answer that an event tells of, when that does not stand below what is here.
    fn out_of_place(&self, event: &ChatEvent) -> Option<MessageId> {
        let is_unknown = |id: &MessageId| self.transcript.find(*id).is_none();
        match event {
            ChatEvent::Snapshot(snapshot) => Some(snapshot.assistant_message_id).filter(is_unknown),
            ChatEvent::MessageStart(start) => {
                let is_below_unknown = start.parent_id.as_ref().is_some_and(is_unknown);
                Some(start.assistant_message_id).filter(is_unknown).filter(|_| is_below_unknown)
            }
            _ => None,
        }
    }

    /// What was sent is stored.
    fn began(&mut self) {
        self.begins = false;
        self.unstored = None;
        self.queue.arrived();
        self.failed = None;
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
