//! Waiting for one thing at a time: requests, refetches and retries. All other decisions of the reducer are made of
//! these.

use tallybook_protocol::{Conversation, Window};
use uuid::Uuid;

use super::super::{
    connection::{Connection, Event, Refetch, RefetchReason, Scope, Stop, Ticket},
    effect::{Effect, Request},
    shown::Place,
    state::State,
};
use crate::{
    data::{MESSAGES_AT_ONCE, NEWEST},
    transcript::Transcript,
};

/// Number of messages that a refetch of the newest ones loads.
const REFETCHED_MESSAGES: u32 = 2;
/// Number of failed attempts in a row after which the page asks the user to reload it.
const MAX_ATTEMPTS: u32 = 120;
/// Maximum pause between two attempts.
const MAX_BACKOFF_SECS: u64 = 30;

impl State {
    /// Loads the conversation for the first time.
    pub(super) fn load(&mut self, uuid: Uuid, out: &mut Vec<Effect>) {
        self.place = Place::Loading(uuid);
        self.is_refetch_due = false;
        self.wait_for(Event::Load(Refetch::FIRST), Request::Load(uuid, NEWEST), out);
    }

    /// Sends `request` and waits for its response, instead of for anything else.
    pub(super) fn wait_for(&mut self, event: Event, request: Request, out: &mut Vec<Effect>) {
        if self.change_connection(event) {
            self.connection_ticket = self.next_ticket();
            out.push(Effect::Perform(self.connection_ticket, request));
        }
    }

    /// Changes the state of the connection. Returns `false` if the event cannot happen in that state.
    pub(super) fn change_connection(&mut self, event: Event) -> bool {
        if let Some(scope) = self.connection.gives_up(&event) {
            self.mark_stale(scope);
        }
        let next = self.connection.next(event);
        debug_assert!(next.is_some(), "this event cannot happen in {:?}", self.connection);
        let is_possible = next.is_some();
        if let Some(next) = next {
            self.connection = next;
        }
        is_possible
    }

    pub(super) fn next_ticket(&mut self) -> Ticket {
        self.last_ticket.0 += 1;
        self.last_ticket
    }

    /// Loads the stored conversation again.
    pub(super) fn refetch(&mut self, refetch: Refetch, out: &mut Vec<Effect>) {
        let Place::Open(uuid) = self.place else { return };
        let refetch = Refetch { scope: refetch.scope.max(self.refetch_scope), ..refetch };
        let window = match refetch.scope {
            // Nothing before the last message can have changed as long as that message is still there.
            Scope::Newest => Window { limit: Some(REFETCHED_MESSAGES), from: self.transcript.last(), before: None },
            Scope::All => loaded_window(&self.transcript),
        };
        self.wait_for(Event::Load(refetch), Request::Load(uuid, window), out);
        (self.is_refetch_due, self.refetch_scope) = (false, Scope::Newest);
    }

    /// Loads the state of a turn.
    pub(super) fn follow(&mut self, out: &mut Vec<Effect>) {
        self.refetch(Refetch { why: RefetchReason::Follow, scope: Scope::Newest }, out);
    }

    /// Loads changes while no turn is known to run.
    pub(super) fn check(&mut self, out: &mut Vec<Effect>) {
        self.refetch(Refetch { why: RefetchReason::Check, scope: Scope::Newest }, out);
    }

    pub(super) fn refresh(&mut self, stored: Conversation, out: &mut Vec<Effect>) {
        self.transcript.refresh(stored);
        out.push(Effect::Draw);
    }

    /// Ends the wait: no turn runs any more.
    pub(super) fn rest(&mut self, out: &mut Vec<Effect>) {
        self.settle(out);
        // If the turn waits for approval, the end that the feed reported may have been the turn's, and not only its
        // pause.
        let may_be_over = self.transcript.awaiting().is_some() && std::mem::take(&mut self.feed_saw_end);
        if self.is_refetch_due || may_be_over {
            self.check(out);
        }
    }

    pub(super) fn settle(&mut self, out: &mut Vec<Effect>) {
        self.change_connection(Event::Rest);
        self.forget_failed_stop();
        self.awaiting_start = false;
        self.stop = Stop::No;
        (self.stream.attempt, self.stream.refetched_for) = (0, None);
        self.queue.arrived();
        if self.transcript.entries().last().is_some_and(|last| last.status.is_cut_off()) {
            // The queue must not be sent after a later answer that completes, either.
            self.queue.hold_back();
        }
        if self.unstored.take().is_some() {
            out.push(Effect::Draw);
        }
    }

    /// Waits 1, 2, 4, 8 … seconds before the next attempt, and shows that.
    pub(super) fn back_off(&mut self, out: &mut Vec<Effect>) {
        self.stream.attempt += 1;
        let attempt = self.stream.attempt;
        if attempt > MAX_ATTEMPTS {
            self.notice = Some(self.text.connection_lost().to_owned());
            self.is_refetch_due = true;
            return self.settle(out);
        }
        let seconds = 1_u64.checked_shl(attempt - 1).unwrap_or(MAX_BACKOFF_SECS).min(MAX_BACKOFF_SECS);
        self.wait_for(Event::BackOff(seconds), Request::Tick, out);
    }

    pub(super) fn on_tick(&mut self, seconds_left: u64, out: &mut Vec<Effect>) {
        match self.place {
            _ if seconds_left > 1 => self.wait_for(Event::BackOff(seconds_left - 1), Request::Tick, out),
            // The page keeps showing why loading failed until it succeeds.
            Place::Failed(uuid, _) => {
                self.wait_for(Event::Load(Refetch::FIRST), Request::Load(uuid, NEWEST), out);
            }
            _ => self.join(out),
        }
    }

    /// Makes the next attempt now.
    pub(super) fn retry(&mut self, out: &mut Vec<Effect>) {
        if let Place::Failed(uuid, _) = self.place {
            self.stream.attempt = 0;
            self.load(uuid, out);
        } else if matches!(self.connection, Connection::Backoff(_)) {
            self.join(out);
        }
    }

    /// Joins the running turn, or ends the wait if none runs.
    pub(super) fn follow_or_rest(&mut self, out: &mut Vec<Effect>) {
        if self.transcript.runs() {
            self.feed_saw_end = false;
            self.queue.waits = false;
            self.stream.last_event = None;
            self.join(out);
        } else {
            self.rest(out);
        }
    }

    pub(super) fn join(&mut self, out: &mut Vec<Effect>) {
        let Some(uuid) = self.uuid() else { return };
        self.wait_for(Event::Join, Request::Join(uuid, self.stream.last_event.clone()), out);
    }

    /// Asks the server to stop the turn if the user wants that. The turn runs by now.
    pub(super) fn stop_if_wanted(&mut self, out: &mut Vec<Effect>) {
        if let Some(uuid) = self.uuid().filter(|_| self.is_stop_wanted()) {
            let ticket = self.next_ticket();
            self.stop = Stop::Requested(ticket);
            out.push(Effect::Stop(ticket, uuid));
        }
    }

    /// Removes the notice that the turn could not be stopped.
    pub(super) fn forget_failed_stop(&mut self) {
        if self.notice.as_deref() == Some(self.text.stop_failed()) {
            self.notice = None;
        }
    }

    /// Removes a notice about the connection, which works again. The notice about a moved edit stays.
    pub(super) fn forget_connection_notice(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice == self.text.edit_moved());
    }
}

/// Returns the window of the loaded messages that belong to the shown branch.
pub(super) fn loaded_window(transcript: &Transcript) -> Window {
    Window { limit: Some(MESSAGES_AT_ONCE), from: transcript.first(), before: None }
}
