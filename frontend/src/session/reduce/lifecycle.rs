//! Opening a conversation, keeping it current, and losing it: changes to the conversation elsewhere, to the tab, and to
//! the network.

use tallybook_protocol::{Conversation, FeedKind};
use uuid::Uuid;

use super::{
    super::{
        connection::{Connection, Event, Refetch, RefetchReason, Scope, Stop},
        effect::{Effect, Request},
        files::{AttachedFile, joined_files},
        queue::Queue,
        shown::{Edited, Place},
        state::{EarlierMessages, State, joined},
        unsent::{KeptEdit, Sent},
    },
    history::{DRAWN_AT_ONCE, take_newest},
};
use crate::{api::ApiError, feed::News, language::Language, transcript::Transcript};

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
    pub(crate) fn restore_kept(
        &mut self,
        files: Vec<AttachedFile>,
        queue: Queue,
        plans_first: bool,
        edit: Option<KeptEdit>,
        sent: Option<Sent>,
    ) {
        self.files = files.into_iter().map(|file| file.after_reload(self.text)).collect();
        self.failed = sent;
        self.edited = edit.map(Edited::from);
        self.plans_first = plans_first;
        self.restore_queue(queue);
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
                RefetchReason::Poll => self.wait_for(Event::Hide, Request::HiddenPause, out),
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
                self.change_connection(Event::Rest);
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

    pub(super) fn on_hidden(&mut self, is_hidden: bool, out: &mut Vec<Effect>) {
        self.is_hidden = is_hidden;
        if !is_hidden && self.connection == Connection::Hidden {
            self.follow(out);
        }
    }

    /// Closes the stream of a hidden tab, which does not need one. The tab polls for the end of the turn, because
    /// queued messages may wait for it.
    pub(super) fn poll_if_hidden(&mut self, out: &mut Vec<Effect>) {
        let reads = match self.connection {
            Connection::Streaming | Connection::Joining | Connection::Crowded | Connection::Backoff(_) => true,
            Connection::Refetching(refetch) => refetch.why == RefetchReason::Follow,
            _ => false,
        };
        if self.is_hidden && reads && self.unstored.is_none() && matches!(self.place, Place::Open(_)) {
            self.wait_for(Event::Hide, Request::HiddenPause, out);
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
            self.draft = joined(&unstored.content, &self.draft);
            self.files = joined_files(unstored.files, &self.files);
        }
        if let Some(edited) = self.edited.take().filter(|edited| edited.is_changed) {
            self.draft = joined(&edited.text, &self.draft);
            self.take_files(edited.files);
        }
        (self.notice, self.failed, self.awaiting_start) = (None, None, false);
        (self.is_refetch_due, self.refetch_scope) = (false, Scope::Newest);
        (self.stop, self.earlier, self.link) = (Stop::No, EarlierMessages::Idle, None);
        self.place = Place::Deleted;
        self.change_connection(Event::Delete);
        // Nothing that is still on its way has this ticket.
        self.connection_ticket = self.next_ticket();
        out.extend([Effect::Abort, Effect::AdoptDraft, Effect::Draw]);
        if std::mem::take(&mut self.is_leaving) {
            out.push(Effect::OpenNewChat);
        }
    }

    /// Adds the text and files that are kept for the new chat to the field of a conversation that is gone.
    pub(super) fn adopt(&mut self, draft: &str, files: &[AttachedFile]) {
        if !matches!(self.place, Place::Deleted | Place::Missing) {
            return;
        }
        if draft != self.draft {
            self.draft = joined(draft, &self.draft);
        }
        self.files = joined_files(files.iter().filter_map(AttachedFile::ready).cloned().collect(), &self.files);
    }
}
