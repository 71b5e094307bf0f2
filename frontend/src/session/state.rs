//! All that a session knows. No signals, no browser: it changes in `reduce` alone.

use std::collections::BTreeMap;

use tallybook_protocol::{AnswerMode, Conversation, MessageId, NewMessage, ToolCallId};
use uuid::Uuid;

use super::{
    queue::Queue,
    reader::{Asked, Look, Reader, Sought, Ticket},
    shown::{Edited, Loading, Phase, Place},
    unsent::{KeptEdit, Sent},
};
use crate::{goal::Goal, language::Language, transcript::Transcript};

/// All that a session knows.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they go together in every way")]
pub(crate) struct State {
    pub(crate) place: Place,
    /// Whether the conversation is being deleted here, which can still be taken back.
    pub(crate) is_leaving: bool,
    /// The conversation, up to one frame ahead of what is drawn.
    pub(crate) transcript: Transcript,
    /// What is in the message field.
    pub(crate) draft: String,
    /// The text being sent, until the server has stored it.
    pub(crate) unstored: Option<String>,
    /// The message of one's own that is being changed.
    pub(crate) edited: Option<Edited>,
    /// The model that was chosen for the next message alone.
    pub(crate) next_model: Option<String>,
    /// `true` if the next message is answered by a plan.
    pub(crate) plans_first: bool,
    /// What waits for the end of the answer.
    pub(crate) queue: Queue,
    /// What went wrong with the last thing asked for.
    pub(crate) notice: Option<String>,
    pub(crate) stopping: bool,
    /// How it stands with the messages before those that are here.
    pub(crate) earlier: Loading,
    /// How it stands with the rest of tool calls whose texts came cut.
    pub(crate) calls: BTreeMap<ToolCallId, Loading>,
    pub(super) reader: Reader,
    /// The last ticket that was given out, and those of what is waited for.
    pub(super) last_ticket: Ticket,
    pub(super) reader_ticket: Ticket,
    pub(super) earlier_ticket: Ticket,
    pub(super) stop_ticket: Ticket,
    /// The place that one is on the way to, and how far that was gone.
    pub(super) goal: Option<Goal>,
    pub(super) sought: Sought,
    /// A message to be sent as soon as what is shown is certain.
    pub(super) held: Option<NewMessage>,
    /// The last message that was sent, as long as `unstored` is set.
    pub(super) sent: Option<Sent>,
    /// The last message that failed to be sent, with its id: sent again it is the same message.
    pub(super) failed: Option<Sent>,
    /// Whether Stop was pressed before there was a turn to stop.
    pub(super) is_stop_wanted: bool,
    /// Whether the beginning of the turn that was asked for is still to be heard.
    pub(super) begins: bool,
    /// The last event that was heard of the turn.
    pub(super) last_event: Option<String>,
    /// How many attempts in a row have failed.
    pub(super) attempt: u32,
    /// The answer of an unknown turn that was looked up, until another turn is heard of.
    pub(super) looked_up: Option<MessageId>,
    /// Whether nobody sees the tab.
    pub(super) is_hidden: bool,
    /// Whether something may have happened that is not known here.
    pub(super) is_stale: bool,
    /// Whether it may be above the last message, where another version of one was chosen.
    pub(super) is_all_stale: bool,
    /// Whether the feed has told of the end of the turn that is being read.
    pub(super) feed_told_end: bool,
    /// Earlier messages that are here and not yet shown, and the message that they lead up to.
    pub(super) coming: Option<(MessageId, Conversation)>,
    pub(super) text: Language,
}

impl State {
    /// A place of which nothing is known yet; `draft` is what was kept of what was being written.
    pub(super) fn blank(place: Place, draft: String, text: Language) -> Self {
        Self {
            place,
            is_leaving: false,
            transcript: Transcript::default(),
            draft,
            unstored: None,
            edited: None,
            next_model: None,
            plans_first: false,
            queue: Queue::default(),
            notice: None,
            stopping: false,
            earlier: Loading::Idle,
            calls: BTreeMap::new(),
            reader: Reader::Resting,
            last_ticket: Ticket::default(),
            reader_ticket: Ticket::default(),
            earlier_ticket: Ticket::default(),
            stop_ticket: Ticket::default(),
            goal: None,
            sought: Sought::default(),
            held: None,
            sent: None,
            failed: None,
            is_stop_wanted: false,
            begins: false,
            last_event: None,
            attempt: 0,
            looked_up: None,
            is_hidden: false,
            is_stale: false,
            is_all_stale: false,
            feed_told_end: false,
            coming: None,
            text,
        }
    }

    /// Returns how the message that is sent now is to be answered. The next one is not planned unless that is chosen again.
    pub(super) fn take_mode(&mut self) -> AnswerMode {
        if std::mem::take(&mut self.plans_first) { AnswerMode::Plan } else { AnswerMode::React }
    }

    /// What the session is doing.
    pub(crate) fn phase(&self) -> Phase {
        match self.reader {
            _ if self.held.is_some() => Phase::Sending,
            // A place that cannot be shown has nothing that runs.
            _ if !matches!(self.place, Place::NewChat | Place::Open(_)) => Phase::Idle,
            Reader::Resting | Reader::Looking(Look { is_quiet: true, .. }) if self.transcript.awaiting().is_some() => {
                Phase::Awaiting
            }
            Reader::Resting | Reader::Selecting { .. } | Reader::Looking(Look { is_quiet: true, .. }) => Phase::Idle,
            Reader::Making(_) | Reader::Asking(Asked::Message { .. }) => Phase::Sending,
            Reader::Looking(_) | Reader::Joining | Reader::Streaming | Reader::Crowded if self.unstored.is_some() => {
                Phase::Sending
            }
            Reader::Hidden | Reader::Looking(Look { is_peek: true, .. }) => Phase::Hidden,
            Reader::Asking(_) | Reader::Looking(_) | Reader::Joining | Reader::Streaming | Reader::Crowded => {
                Phase::Following
            }
            Reader::Pausing(seconds) => Phase::Reconnecting(seconds),
        }
    }

    /// The conversation that is open.
    pub(crate) fn uuid(&self) -> Option<Uuid> {
        match self.place {
            Place::Loading(uuid) | Place::Failed(uuid, _) | Place::Open(uuid) => Some(uuid),
            Place::NewChat | Place::Missing | Place::Deleted => None,
        }
    }

    /// The conversation, while something else can be asked for in it.
    pub(super) fn at_rest(&self) -> Option<Uuid> {
        self.open_and_free().filter(|_| self.transcript.awaiting().is_none())
    }

    /// The conversation, while nothing is waited for in it, unless for a person's decision.
    pub(super) fn open_and_free(&self) -> Option<Uuid> {
        let is_free = matches!(self.reader, Reader::Resting | Reader::Looking(Look { is_quiet: true, .. }));
        match self.place {
            Place::Open(uuid) if is_free && !self.is_leaving => Some(uuid),
            _ => None,
        }
    }

    /// Returns the conversation if messages wait in it that are still to be sent when it is left.
    pub(super) fn left_waiting(&self) -> Option<Uuid> {
        let Queue { messages, is_held, waits, .. } = &self.queue;
        let is_open = matches!(self.place, Place::Open(_)) && !self.is_leaving;
        self.uuid().filter(|_| is_open && !messages.is_empty() && !is_held && !waits)
    }

    /// Whether a message can be sent from here at all.
    pub(crate) fn takes_messages(&self) -> bool {
        !self.is_leaving && matches!(self.place, Place::NewChat | Place::Loading(_) | Place::Open(_))
    }

    /// Whether a message is on its way that should arrive even though the page is left.
    pub(super) fn is_delivering(&self) -> bool {
        matches!(self.reader, Reader::Making(_) | Reader::Asking(_))
    }

    /// Returns what was written in the message field and is not known to be stored.
    pub(crate) fn unsent(&self) -> String {
        match self.under_way().filter(|sent| sent.edit_of.is_none()) {
            Some(sent) => joined(&sent.content, &self.draft),
            None => self.draft.clone(),
        }
    }

    /// Returns the text of a question that was edited and is not known to be stored.
    pub(super) fn unsent_edit(&self) -> Option<KeptEdit> {
        if let Some(Edited { id, text, .. }) = self.edited.clone().filter(|edited| edited.is_changed) {
            return Some(KeptEdit { id, text });
        }
        let sent = self.under_way()?;
        Some(KeptEdit { id: sent.edit_of?, text: sent.content.clone() })
    }

    /// Returns the message that is being sent, unless it is one from the queue.
    fn under_way(&self) -> Option<&NewMessage> {
        self.unstored.as_ref().filter(|_| !self.queue.is_sending)?;
        self.held.as_ref().or(self.sent.as_ref().map(|sent| &sent.message))
    }

    /// Returns the message whose arrival is unknown. One that is held back was not sent yet.
    pub(super) fn uncertain(&self) -> Option<&Sent> {
        if self.unstored.is_some() && self.held.is_none() { self.sent.as_ref() } else { self.failed.as_ref() }
    }

    /// Puts a message back to where it was typed, or where it waited.
    pub(super) fn take_back(&mut self, message: NewMessage) {
        self.unstored = None;
        self.begins = false;
        if std::mem::take(&mut self.queue.is_sending) {
            self.queue.waits = true;
            return;
        }
        if let Some(id) = message.edit_of {
            self.edited = Some(Edited { id, text: message.content, is_changed: true });
        } else {
            self.draft = joined(&message.content, &self.draft);
            self.next_model = message.model.or(self.next_model.take());
            self.plans_first |= message.mode == AnswerMode::Plan;
        }
    }

    /// Drops the last question from the draft, where it was kept because it was not known to be stored.
    pub(super) fn drop_stored_draft(&mut self) {
        let rest = self.transcript.last_question().and_then(|question| self.draft.trim_start().strip_prefix(question));
        if let Some(rest) = rest.filter(|rest| rest.trim().is_empty() || rest.starts_with('\n')) {
            self.draft = rest.trim_start().to_owned();
        }
    }
}

/// Two texts for one field, the older first.
pub(super) fn joined(older: &str, newer: &str) -> String {
    match (older.trim().is_empty(), newer.trim().is_empty()) {
        (true, _) => newer.to_owned(),
        (_, true) => older.to_owned(),
        _ => [older, newer].join("\n"),
    }
}
