//! The state of a session. It has no signals and does not use the browser. Only `reduce` changes it.

use std::collections::BTreeMap;

use tallybook_protocol::{AnswerMode, Conversation, MessageId, ToolCallId};
use uuid::Uuid;

use super::{
    connection::{Connection, LinkStage, Refetch, RefetchReason, Scope, Starting, Stop, StreamPosition, Ticket},
    files::{AttachedFile, joined_files, ready_files},
    queue::Queue,
    shown::{Edited, Loading, Phase, Place},
    unsent::{KeptEdit, Sent, UnsentMessage},
};
use crate::{goal::Goal, language::Language, transcript::Transcript};

/// All that a session knows.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(crate) struct State {
    pub(crate) place: Place,
    /// `true` while the conversation is being deleted from this page, which the user can still undo.
    pub(crate) is_leaving: bool,
    /// The known conversation, at most one frame ahead of the rendered one.
    pub(crate) transcript: Transcript,
    /// The text of the message field.
    pub(crate) draft: String,
    /// The files of the message field.
    pub(crate) files: Vec<AttachedFile>,
    /// The ID of the message that is sent as soon as its files are uploaded.
    pub(crate) send_after_uploads: Option<String>,
    /// The message being sent, until the server has stored it.
    pub(crate) unstored: Option<UnsentMessage>,
    /// The question that is being edited.
    pub(crate) edited: Option<Edited>,
    /// The model for the next message only.
    pub(crate) next_model: Option<String>,
    /// `true` if the next message is answered with a plan.
    pub(crate) plans_first: bool,
    pub(crate) queue: Queue,
    /// The reason why the user's last action failed.
    pub(crate) notice: Option<String>,
    /// The state of tool calls whose full texts were requested.
    pub(crate) calls: BTreeMap<ToolCallId, Loading>,
    pub(super) connection: Connection,
    pub(super) connection_ticket: Ticket,
    pub(super) last_ticket: Ticket,
    pub(super) stream: StreamPosition,
    pub(super) stop: Stop,
    pub(super) earlier: EarlierMessages,
    /// The message that the user wants to go to.
    pub(super) link: Option<Link>,
    /// A message that is sent as soon as the conversation has been loaded.
    pub(super) pending_send: Option<UnsentMessage>,
    /// The user's last action that needs the messages, until they are loaded.
    pub(super) pending_action: Option<PendingAction>,
    /// The message that was sent last, as long as `unstored` is set.
    pub(super) sent: Option<Sent>,
    /// The last message that could not be sent. It keeps its ID, so sending it again stores it only once.
    pub(super) failed: Option<Sent>,
    /// `true` until the start of the requested turn is seen.
    pub(super) awaiting_start: bool,
    /// `true` if the feed reported the end of the turn that is being read.
    pub(super) feed_saw_end: bool,
    pub(super) is_hidden: bool,
    /// `true` if the conversation may have changed, so that it is loaded again once nothing else is awaited.
    pub(super) is_refetch_due: bool,
    /// The scope of the next refetch, whenever it happens.
    pub(super) refetch_scope: Scope,
    pub(super) text: Language,
}

/// An action that needs the messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum PendingAction {
    EditLast,
    LoadEarlier,
}

/// Messages that come before the loaded ones.
#[derive(Clone, Debug)]
pub(super) enum EarlierMessages {
    Idle,
    Loading(Ticket),
    /// They are here, and are drawn a few at a time. `page` has those that are left, which come before `below`.
    Drawing {
        ticket: Ticket,
        below: MessageId,
        page: Conversation,
    },
    /// They could not be loaded, for this reason.
    Failed(String),
}

/// A message that the user wants to go to, and how far the search for it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) goal: Goal,
    pub(super) stage: LinkStage,
}

impl State {
    /// Creates the state of a place of which nothing is known yet. `draft` is the kept text of the message field.
    pub(super) fn blank(place: Place, draft: String, text: Language) -> Self {
        Self {
            place,
            is_leaving: false,
            transcript: Transcript::default(),
            draft,
            files: Vec::new(),
            send_after_uploads: None,
            unstored: None,
            edited: None,
            next_model: None,
            plans_first: false,
            queue: Queue::default(),
            notice: None,
            calls: BTreeMap::new(),
            connection: Connection::Idle,
            connection_ticket: Ticket::default(),
            last_ticket: Ticket::default(),
            stream: StreamPosition::default(),
            stop: Stop::No,
            earlier: EarlierMessages::Idle,
            link: None,
            pending_send: None,
            pending_action: None,
            sent: None,
            failed: None,
            awaiting_start: false,
            feed_saw_end: false,
            is_hidden: false,
            is_refetch_due: false,
            refetch_scope: Scope::Newest,
            text,
        }
    }

    /// Returns what the session is doing, for the user.
    pub(crate) fn phase(&self) -> Phase {
        match self.connection {
            _ if self.pending_send.is_some() => Phase::Sending,
            // A place that cannot be shown has no turn.
            _ if !matches!(self.place, Place::NewChat | Place::Open(_)) => Phase::Idle,
            Connection::Idle if self.transcript.awaiting().is_some() => Phase::Awaiting,
            Connection::Refetching(refetch) if refetch.is_check() && self.transcript.awaiting().is_some() => {
                Phase::Awaiting
            }
            Connection::Idle | Connection::Selecting { .. } => Phase::Idle,
            Connection::Refetching(refetch) if refetch.is_check() => Phase::Idle,
            Connection::Creating(_) | Connection::Starting(Starting::Message { .. }) => Phase::Sending,
            Connection::Refetching(_) | Connection::Joining | Connection::Streaming | Connection::Crowded
                if self.unstored.is_some() =>
            {
                Phase::Sending
            }
            Connection::Hidden | Connection::Refetching(Refetch { why: RefetchReason::Poll, .. }) => Phase::Hidden,
            Connection::Starting(_)
            | Connection::Refetching(_)
            | Connection::Joining
            | Connection::Streaming
            | Connection::Crowded => Phase::Following,
            Connection::Backoff(seconds) => Phase::Reconnecting(seconds),
        }
    }

    /// Returns the conversation that is open.
    pub(crate) fn uuid(&self) -> Option<Uuid> {
        match self.place {
            Place::Loading(uuid) | Place::Failed(uuid, _) | Place::Open(uuid) => Some(uuid),
            Place::NewChat | Place::Missing | Place::Deleted => None,
        }
    }

    /// Returns `true` from a press of Stop until the turn has ended.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop != Stop::No
    }

    /// Returns `true` if the user pressed Stop before there was a turn to stop.
    pub(super) fn is_stop_wanted(&self) -> bool {
        self.stop == Stop::Wanted
    }

    /// Returns `true` while the user is being taken to a message.
    pub(crate) fn is_going(&self) -> bool {
        self.link.is_some()
    }

    /// Returns the state of the earlier messages, for the user.
    pub(crate) fn earlier(&self) -> Loading {
        match &self.earlier {
            EarlierMessages::Idle => Loading::Idle,
            EarlierMessages::Loading(_) | EarlierMessages::Drawing { .. } => Loading::Running,
            EarlierMessages::Failed(reason) => Loading::Failed(reason.clone()),
        }
    }

    /// Returns the conversation if a turn can be started in it: nothing is awaited, and no call needs approval.
    pub(super) fn at_rest(&self) -> Option<Uuid> {
        self.open_and_free().filter(|_| self.transcript.awaiting().is_none())
    }

    /// Returns the conversation if nothing is awaited in it, except for a user's decision.
    pub(super) fn open_and_free(&self) -> Option<Uuid> {
        match self.place {
            Place::Open(uuid) if self.connection.is_free() && !self.is_leaving => Some(uuid),
            _ => None,
        }
    }

    /// Returns the conversation if it has queued messages that are still sent after the user leaves it.
    pub(super) fn left_waiting(&self) -> Option<Uuid> {
        let Queue { messages, is_held, waits, .. } = &self.queue;
        let is_open = matches!(self.place, Place::Open(_)) && !self.is_leaving;
        self.uuid().filter(|_| is_open && !messages.is_empty() && !is_held && !waits)
    }

    /// Returns `true` if this place accepts messages.
    pub(crate) fn takes_messages(&self) -> bool {
        !self.is_leaving && matches!(self.place, Place::NewChat | Place::Loading(_) | Place::Open(_))
    }

    /// Returns `true` while a request is on its way that should reach the server even if the user leaves the page.
    pub(super) fn is_delivering(&self) -> bool {
        self.connection.is_starting()
    }

    /// Takes note that the conversation may have changed. It is loaded again once nothing else is awaited.
    pub(super) fn mark_stale(&mut self, scope: Scope) {
        self.is_refetch_due = true;
        self.refetch_scope = self.refetch_scope.max(scope);
    }

    /// Returns the mode of the message that is sent now, and resets the choice for the next message.
    pub(super) fn take_mode(&mut self) -> AnswerMode {
        if std::mem::take(&mut self.plans_first) { AnswerMode::Plan } else { AnswerMode::React }
    }

    /// Returns the text of the message field, including a message that is not known to be stored.
    pub(crate) fn unsent(&self) -> String {
        match self.under_way().filter(|sent| sent.edit_of.is_none()) {
            Some(sent) => joined(&sent.content, &self.draft),
            None => self.draft.clone(),
        }
    }

    /// Returns the files of the message field, including those of a message that is not known to be stored.
    pub(super) fn unsent_files(&self) -> Vec<AttachedFile> {
        match self.under_way().filter(|sent| sent.edit_of.is_none()) {
            Some(sent) => joined_files(sent.files.clone(), &self.files),
            None => self.files.clone(),
        }
    }

    /// Returns the text of a question that was edited and is not known to be stored.
    pub(super) fn unsent_edit(&self) -> Option<KeptEdit> {
        if let Some(Edited { id, text, files, .. }) = self.edited.clone().filter(|edited| edited.is_changed) {
            return Some(KeptEdit { id, text, files: ready_files(&files) });
        }
        let sent = self.under_way()?;
        Some(KeptEdit { id: sent.edit_of?, text: sent.content.clone(), files: sent.files.clone() })
    }

    /// Returns the message that is being sent, unless it is one from the queue.
    fn under_way(&self) -> Option<&UnsentMessage> {
        self.unstored.as_ref().filter(|_| !self.queue.is_sending)?;
        self.pending_send.as_ref().or(self.sent.as_ref().map(|sent| &sent.message))
    }

    /// Returns the message whose arrival is unknown; `None` for one that was not sent yet.
    pub(super) fn uncertain(&self) -> Option<&Sent> {
        if self.unstored.is_some() && self.pending_send.is_none() { self.sent.as_ref() } else { self.failed.as_ref() }
    }

    /// Puts a message back into the field where it was typed, or into the queue.
    pub(super) fn take_back(&mut self, message: UnsentMessage) {
        self.unstored = None;
        self.awaiting_start = false;
        if std::mem::take(&mut self.queue.is_sending) {
            self.queue.waits = true;
            return;
        }
        if let Some(id) = message.edit_of {
            self.edited = Some(Edited {
                id,
                text: message.content,
                files: message.files.into_iter().map(AttachedFile::stored).collect(),
                is_changed: true,
                is_from_field: false,
            });
        } else {
            self.draft = joined(&message.content, &self.draft);
            self.files = joined_files(message.files, &self.files);
            self.next_model = message.model.or(self.next_model.take());
            self.plans_first |= message.mode == AnswerMode::Plan;
        }
    }

    /// Removes the last question from the draft, where it was kept as long as it was not known to be stored.
    pub(super) fn drop_stored_draft(&mut self) {
        let rest = self.transcript.last_question().and_then(|question| self.draft.trim_start().strip_prefix(question));
        if let Some(rest) = rest.filter(|rest| rest.trim().is_empty() || rest.starts_with('\n')) {
            self.draft = rest.trim_start().to_owned();
        }
    }
}

/// Joins two texts for one field, the older first.
pub(super) fn joined(older: &str, newer: &str) -> String {
    match (older.trim().is_empty(), newer.trim().is_empty()) {
        (true, _) => newer.to_owned(),
        (_, true) => older.to_owned(),
        _ => [older, newer].join("\n"),
    }
}
