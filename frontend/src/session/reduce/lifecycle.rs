//! Opening a conversation, keeping it current, and losing it: requests, retries, and what happens to the conversation, the
//! tab and the network elsewhere.

use tallybook_protocol::{Conversation, FeedKind, Window};
use uuid::Uuid;

use super::{
    super::{
        connection::{Connection, Refetch, RefetchReason, Scope, Stop, Ticket},
        effect::{Effect, Request},
        queue::Queue,
        shown::{Edited, Place},
        state::{EarlierMessages, State, joined},
        unsent::{KeptEdit, Sent},
    },
    history::{DRAWN_AT_ONCE, loaded_window, take_newest},
};
use crate::{api::ApiError, data::NEWEST, feed::News, language::Language, transcript::Transcript};

/// Number of messages that a refetch of the newest ones loads.
const REFETCHED_MESSAGES: u32 = 2;
/// Number of failed attempts in a row after which the page asks the user to reload it.
const MAX_ATTEMPTS: u32 = 120;
/// Maximum pause between two attempts.
const MAX_BACKOFF_SECS: u64 = 30;

/// Opening.
impl State {
    /// Creates the state of a place. On the server, `conversation` is the complete conversation; in the browser, it is
    /// loaded later. `draft` is the kept text of the message field.
    pub(crate) fn new(place: Place, conversation: Option<Conversation>, draft: String, text: Language) -> Self {
        let mut state = Self::blank(place, draft, text);
        if let Some(conversation) = conversation {
            state.transcript = Transcript::from(conversation);
        }
        state.connection = match state.place {
            // The server renders a running turn, and does not follow it.
            Place::Open(_) if state.transcript.runs() => Connection::Hidden,
            Place::Loading(_) => Connection::Refetching(Refetch::FIRST),
            _ => Connection::Idle,
        };
        state
    }

    /// Restores what was kept when the page was last here, except for the draft.
    pub(crate) fn restore_kept(&mut self, queue: Queue, plans_first: bool, edit: Option<KeptEdit>, sent: Option<Sent>) {
        self.failed = sent;
        self.edited = edit.map(Edited::from);
        self.plans_first = plans_first;
        self.restore_queue(queue);
    }

    /// Loads the conversation for the first time.
    pub(super) fn load(&mut self, uuid: Uuid, out: &mut Vec<Effect>) {
        self.place = Place::Loading(uuid);
        self.is_refetch_due = false;
        self.wait_for(Connection::Refetching(Refetch::FIRST), Request::Load(uuid, NEWEST), out);
    }

    pub(super) fn on_loaded(
        &mut self,
        loaded: Result<Option<Conversation>, ApiError>,
        refetch: Refetch,
        out: &mut Vec<Effect>,
    ) {
        if let Place::Loading(uuid) | Place::Failed(uuid, _) = self.place {
            return self.on_first_loaded(uuid, loaded, out);
        }
        match loaded {
            Ok(Some(stored)) if refetch.scope == Scope::Newest && !self.transcript.joins(&stored) => {
                self.refetch(Refetch { scope: Scope::All, ..refetch }, out);
            }
            Ok(Some(stored)) => {
                self.refresh(stored, out);
                if !refetch.is_check() {
                    self.forget_connection_notice();
                }
                if self.awaiting_start {
                    // The conversation has a turn after the request, so the sent message is stored.
                    self.on_turn_started();
                }
                self.drop_stored_message();
                self.follow_or_rest(out);
            }
            Ok(None) => self.on_deleted(out),
            Err(_) => match refetch.why {
                // The list of conversations already says that the server is unreachable.
                RefetchReason::Check => {
                    self.mark_stale(refetch.scope);
                    self.settle(out);
                }
                RefetchReason::Follow => self.back_off(out),
                RefetchReason::Poll => self.wait_for(Connection::Hidden, Request::HiddenPause, out),
            },
        }
    }

    fn on_first_loaded(&mut self, uuid: Uuid, loaded: Result<Option<Conversation>, ApiError>, out: &mut Vec<Effect>) {
        match loaded {
            Ok(Some(stored)) => {
                self.place = Place::Open(uuid);
                self.stream.attempt = 0;
                let newest = self.newest_of(stored);
                self.refresh(newest, out);
                if let EarlierMessages::Drawing { ticket, .. } = self.earlier {
                    out.push(Effect::DrawEarlier(ticket));
                }
                if self.pending_send.is_none() {
                    self.drop_stored_message();
                }
                if !self.send_pending(out) {
                    self.follow_or_rest(out);
                }
            }
            Ok(None) => {
                self.take_back_pending();
                self.place = Place::Missing;
                self.link = None;
                self.queue_into_draft();
                // The text moves to the new chat.
                out.push(Effect::AdoptDraft);
            }
            Err(error) => {
                self.take_back_pending();
                self.place = Place::Failed(uuid, error.message(self.text));
                self.back_off(out);
            }
        }
    }

    /// Returns the newest messages of a conversation that is opened. Those before them are drawn after them.
    fn newest_of(&mut self, mut stored: Conversation) -> Conversation {
        let newest = take_newest(&mut stored, DRAWN_AT_ONCE);
        if let Some(first) = newest.messages.first().filter(|_| !stored.messages.is_empty()) {
            let ticket = self.next_ticket();
            self.earlier = EarlierMessages::Drawing { ticket, below: first.id, page: stored };
        }
        newest
    }
}

/// Waiting.
impl State {
    /// Sends `request` and waits for its response, instead of for anything else.
    pub(super) fn wait_for(&mut self, connection: Connection, request: Request, out: &mut Vec<Effect>) {
        if let Connection::Refetching(refetch) = self.connection
            && !matches!(connection, Connection::Refetching(_))
        {
            // The result of that refetch will not be seen.
            self.mark_stale(refetch.scope);
        }
        self.connection = connection;
        self.connection_ticket = self.next_ticket();
        out.push(Effect::Perform(self.connection_ticket, request));
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
        self.wait_for(Connection::Refetching(refetch), Request::Load(uuid, window), out);
        (self.is_refetch_due, self.refetch_scope) = (false, Scope::Newest);
    }

    /// Loads the state of a turn.
    pub(super) fn follow(&mut self, out: &mut Vec<Effect>) {
        self.refetch(Refetch { why: RefetchReason::Follow, scope: Scope::Newest }, out);
    }

    /// Loads changes while no turn is known to run.
    fn check(&mut self, out: &mut Vec<Effect>) {
        self.refetch(Refetch { why: RefetchReason::Check, scope: Scope::Newest }, out);
    }

    pub(super) fn refresh(&mut self, stored: Conversation, out: &mut Vec<Effect>) {
        self.transcript.refresh(stored);
        out.push(Effect::Draw);
    }

    /// Ends the wait: no turn runs any more.
    pub(super) fn rest(&mut self, out: &mut Vec<Effect>) {
        self.settle(out);
        // If the turn waits for approval, the end that the feed reported may have been the turn's, and not only its pause.
        let may_be_over = self.transcript.awaiting().is_some() && std::mem::take(&mut self.feed_saw_end);
        if self.is_refetch_due || may_be_over {
            self.check(out);
        }
    }

    pub(super) fn settle(&mut self, out: &mut Vec<Effect>) {
        self.connection = Connection::Idle;
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
        self.wait_for(Connection::Backoff(seconds), Request::Tick, out);
    }

    pub(super) fn on_tick(&mut self, seconds_left: u64, out: &mut Vec<Effect>) {
        match self.place {
            _ if seconds_left > 1 => self.wait_for(Connection::Backoff(seconds_left - 1), Request::Tick, out),
            // The page keeps showing why loading failed until it succeeds.
            Place::Failed(uuid, _) => {
                self.wait_for(Connection::Refetching(Refetch::FIRST), Request::Load(uuid, NEWEST), out);
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
}

/// Changes from elsewhere.
impl State {
    /// Handles an event of the feed: loads what changed, and follows a turn that was started elsewhere.
    pub(super) fn on_news(&mut self, news: &News, out: &mut Vec<Effect>) {
        let event = match news {
            News::Missed => {
                self.forget_unreachable_notice();
                return self.catch_up(out);
            }
            News::Event(event) => event,
        };
        if self.uuid() != Some(event.conversation_id) {
            return;
        }
        match event.kind {
            FeedKind::ConversationDeleted => self.on_deleted(out),
            FeedKind::BranchSelected => {
                // A message before the last may have another version now.
                self.refetch_scope = Scope::All;
                self.catch_up(out);
            }
            // A turn that waits for approval ends when it is stopped elsewhere.
            FeedKind::TurnEnded | FeedKind::ConversationUpdated if self.transcript.awaiting().is_some() => {
                self.catch_up(out);
            }
            // Otherwise only the next poll would show it.
            FeedKind::TurnEnded if self.connection == Connection::Crowded => self.follow(out),
            FeedKind::TurnEnded => self.feed_saw_end = true,
            // The turn that is already followed, unless the feed reported the end of that one.
            FeedKind::TurnStarted if self.connection.follows_turn() && !self.feed_saw_end => {}
            FeedKind::TurnStarted => {
                self.feed_saw_end = false;
                self.catch_up(out);
            }
            FeedKind::ConversationCreated
            | FeedKind::ConversationRenamed
            | FeedKind::ConversationUpdated
            | FeedKind::Unknown => {}
        }
    }

    /// Loads what may have changed, now or as soon as nothing else is awaited.
    fn catch_up(&mut self, out: &mut Vec<Effect>) {
        match (&self.place, &self.connection) {
            (Place::Open(_), Connection::Idle) => self.check(out),
            (Place::Failed(..), _) => self.retry(out),
            _ => self.is_refetch_due = true,
        }
    }

    fn forget_unreachable_notice(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice != self.text.unreachable());
    }

    /// Removes a notice about the connection, which works again. The notice about a moved edit stays.
    pub(super) fn forget_connection_notice(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice == self.text.edit_moved());
    }

    pub(super) fn on_hidden(&mut self, is_hidden: bool, out: &mut Vec<Effect>) {
        self.is_hidden = is_hidden;
        if !is_hidden && self.connection == Connection::Hidden {
            self.follow(out);
        }
    }

    /// Closes the stream of a hidden tab, which does not need one. The tab polls for the end of the turn, because queued
    /// messages may wait for it.
    pub(super) fn poll_if_hidden(&mut self, out: &mut Vec<Effect>) {
        let reads = match self.connection {
            Connection::Streaming | Connection::Joining | Connection::Crowded | Connection::Backoff(_) => true,
            Connection::Refetching(refetch) => refetch.why == RefetchReason::Follow,
            _ => false,
        };
        if self.is_hidden && reads && self.unstored.is_none() && matches!(self.place, Place::Open(_)) {
            self.wait_for(Connection::Hidden, Request::HiddenPause, out);
        }
    }

    pub(super) fn on_online(&mut self, out: &mut Vec<Effect>) {
        self.forget_unreachable_notice();
        if self.is_refetch_due && self.connection == Connection::Idle {
            self.check(out);
        } else {
            self.retry(out);
        }
    }

    /// Handles the deletion of the conversation: unsent texts move to a new chat.
    pub(super) fn on_deleted(&mut self, out: &mut Vec<Effect>) {
        if self.place == Place::Deleted {
            return;
        }
        self.pending_send = None;
        let unstored = self.unstored.take().filter(|_| !self.queue.is_sending);
        self.queue_into_draft();
        if let Some(unstored) = unstored {
            self.draft = joined(&unstored, &self.draft);
        }
        if let Some(edited) = self.edited.take().filter(|edited| edited.is_changed) {
            self.draft = joined(&edited.text, &self.draft);
        }
        (self.notice, self.failed, self.awaiting_start) = (None, None, false);
        (self.is_refetch_due, self.refetch_scope) = (false, Scope::Newest);
        (self.stop, self.earlier, self.link) = (Stop::No, EarlierMessages::Idle, None);
        self.place = Place::Deleted;
        self.connection = Connection::Idle;
        // Nothing that is still on its way has this ticket.
        self.connection_ticket = self.next_ticket();
        out.extend([Effect::Abort, Effect::AdoptDraft, Effect::Draw]);
        if std::mem::take(&mut self.is_leaving) {
            out.push(Effect::OpenNewChat);
        }
    }

    /// Adds the text that is kept for the new chat to the field of a conversation that is gone.
    pub(super) fn adopt(&mut self, draft: &str) {
        if matches!(self.place, Place::Deleted | Place::Missing) && draft != self.draft {
            self.draft = joined(draft, &self.draft);
        }
    }
}
