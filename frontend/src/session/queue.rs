//! Messages that were sent while an answer was being written: they wait for its end, one after the other.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{AnswerMode, Conversation, MessageStatus, NewMessage, Role};

/// So many messages can wait in one conversation.
pub(crate) const MAX_QUEUED: usize = 10;

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queued {
    /// Its `client_message_id`: however often it is sent, it is stored once.
    pub(crate) id: String,
    pub(crate) text: String,
    /// The model that was chosen for it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How it is to be answered.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub(crate) mode: AnswerMode,
}

impl Queued {
    pub(super) fn to_message(&self) -> NewMessage {
        let (content, model) = (self.text.clone(), self.model.clone());
        NewMessage {
            content,
            client_message_id: Some(self.id.clone()),
            model,
            mode: self.mode,
            ..NewMessage::default()
        }
    }
}

/// What can be done with the messages that wait in a conversation that is not open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The first can be sent.
    Send(NewMessage),
    /// A turn runs, or waits for a decision.
    Wait,
    /// The last answer did not end well: they stay until their user sends them.
    Hold,
    /// There is nothing left to send here.
    End,
}

/// What waits, in the order in which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    /// The first stays here while it is on its way.
    pub(crate) messages: Vec<Queued>,
    /// Whether the first is on its way.
    pub(crate) is_sending: bool,
    /// The one that is being changed. It is not sent meanwhile, nor are those behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<String>,
    /// What was typed in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited_text: Option<String>,
    /// Whether it is sent only by its own button, since an answer was stopped or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_held: bool,
    /// Whether it is sent only when its reader says so or a turn is found that runs, since something went wrong.
    #[serde(skip)]
    pub(crate) waits: bool,
}

impl Queue {
    /// What was kept as text; nothing when that cannot be read.
    pub(super) fn from_text(text: &str) -> Self {
        let mut queue: Self = serde_json::from_str(text).unwrap_or_default();
        queue.messages.truncate(MAX_QUEUED);
        queue.is_sending &= !queue.messages.is_empty();
        queue.is_held &= !queue.messages.is_empty();
        // A field in which nothing was typed need not be open again.
        queue.edited = queue.edited.filter(|_| queue.edited_text.is_some());
        queue
    }

    /// To be kept; nothing when nothing waits.
    pub(super) fn to_text(&self) -> String {
        if self.messages.is_empty() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }

    /// The next one to be sent.
    pub(super) fn next(&self) -> Option<&Queued> {
        let first = self.messages.first().filter(|_| !self.is_sending)?;
        (self.edited.as_ref() != Some(&first.id)).then_some(first)
    }

    /// Holds back what waits until its reader sends it: its turn did not come although nothing runs.
    pub(super) fn hold_back(&mut self) {
        self.is_held |= self.next().is_some();
    }

    /// Returns what can be done with what waits in a conversation that is not open.
    pub(crate) fn due(&self, found: &Conversation) -> Due {
        // What was on its way when the conversation was left may have arrived; sent again it is the same message.
        let queue = Self { is_sending: false, ..self.clone() };
        let Some(first) = queue.next().filter(|_| !queue.is_held) else { return Due::End };
        match found.messages.last() {
            _ if found.summary.running || found.active_message_id.is_some() => Due::Wait,
            Some(last) if last.role == Role::Assistant && last.status == MessageStatus::Complete => {
                Due::Send(first.to_message())
            }
            Some(last) if last.status == MessageStatus::AwaitingApproval => Due::Wait,
            _ => Due::Hold,
        }
    }

    /// Takes out the message with this id.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Queued> {
        let at = self.messages.iter().position(|queued| queued.id == id)?;
        self.is_sending &= at > 0;
        if self.edited.as_deref() == Some(id) {
            (self.edited, self.edited_text) = (None, None);
        }
        let removed = self.messages.remove(at);
        self.is_held &= !self.messages.is_empty();
        Some(removed)
    }

    /// The first has arrived.
    pub(super) fn arrived(&mut self) {
        if std::mem::take(&mut self.is_sending) {
            self.messages.remove(0);
            self.is_held &= !self.messages.is_empty();
        }
    }
}
