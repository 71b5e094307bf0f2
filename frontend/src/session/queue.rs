//! The queue of messages that were sent while an answer was being written. They are sent in order after the answer
//! ends.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{AnswerMode, Conversation, MessageFile, MessageStatus, Role};

use super::unsent::UnsentMessage;

/// Maximum number of queued messages in one conversation.
pub(crate) const MAX_QUEUED: usize = 10;

/// A queued message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queued {
    /// The `client_message_id`. The server stores the message once, even if the page sends it several times.
    pub(crate) id: String,
    pub(crate) text: String,
    /// The files of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<MessageFile>,
    /// The model that was chosen for this message only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The mode of its answer.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub(crate) mode: AnswerMode,
}

impl Queued {
    pub(super) fn to_message(&self) -> UnsentMessage {
        UnsentMessage {
            content: self.text.clone(),
            files: self.files.clone(),
            client_message_id: Some(self.id.clone()),
            edit_of: None,
            model: self.model.clone(),
            mode: self.mode,
        }
    }
}

/// The next action for the queue of a conversation that is not open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Send the first message.
    Send(UnsentMessage),
    /// Wait, because a turn runs or waits for approval.
    Wait,
    /// Keep the messages until the user sends them, because the last answer did not complete.
    Hold,
    /// Stop, because there is nothing left to send from here.
    End,
}

/// The queued messages, in the order in which they are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    /// The messages. The first stays here while it is being sent.
    pub(crate) messages: Vec<Queued>,
    /// `true` while the first message is being sent.
    pub(crate) is_sending: bool,
    /// The message that is being edited. Until the edit ends, neither this message nor those behind it are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<String>,
    /// The text that was typed for the edited message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edited_text: Option<String>,
    /// `true` if the queue is sent only with its own button, because an answer was stopped or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_held: bool,
    /// `true` if something went wrong. Then the queue waits until the user sends it or a running turn is found.
    #[serde(skip)]
    pub(crate) waits: bool,
}

impl Queue {
    /// Reads a stored queue. Returns an empty queue if the text cannot be parsed.
    pub(super) fn from_text(text: &str) -> Self {
        let mut queue: Self = serde_json::from_str(text).unwrap_or_default();
        queue.messages.truncate(MAX_QUEUED);
        queue.is_sending &= !queue.messages.is_empty();
        queue.is_held &= !queue.messages.is_empty();
        // An edit without any typed text is not restored.
        queue.edited = queue.edited.filter(|_| queue.edited_text.is_some());
        queue
    }

    /// Returns the queue as text to store; empty if no message is queued.
    pub(super) fn to_text(&self) -> String {
        if self.messages.is_empty() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }

    /// Returns the next message to send. `None` while one is being sent, or while the first one is being edited.
    pub(super) fn next(&self) -> Option<&Queued> {
        let first = self.messages.first().filter(|_| !self.is_sending)?;
        (self.edited.as_ref() != Some(&first.id)).then_some(first)
    }

    /// Holds the queue until the user sends it, if a message could have been sent now.
    pub(super) fn hold_back(&mut self) {
        self.is_held |= self.next().is_some();
    }

    /// Returns the next action for the queue of a conversation that is not open.
    pub(crate) fn due(&self, found: &Conversation) -> Due {
        // The first message may have arrived after the conversation was left. It has the same ID if it is sent again.
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

    /// Removes the message with this ID.
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

    /// Removes the first message if it was being sent, because it has arrived.
    pub(super) fn arrived(&mut self) {
        if std::mem::take(&mut self.is_sending) {
            self.messages.remove(0);
            self.is_held &= !self.messages.is_empty();
        }
    }
}
