//! Messages that were sent while an answer was being written: they wait for its end, one after the other.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{AnswerMode, NewMessage};

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

/// What waits, in the order in which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queue {
    /// The first stays here while it is on its way.
    pub(crate) messages: Vec<Queued>,
    /// Whether the first is on its way.
    pub(crate) is_sending: bool,
    /// The one that is being changed. It is not sent meanwhile, nor are those behind it.
    #[serde(skip)]
    pub(crate) edited: Option<String>,
    /// Whether it goes on only when its reader says so, since something went wrong.
    #[serde(skip)]
    pub(super) waits: bool,
}

impl Queue {
    /// What was kept as text; nothing when that cannot be read.
    pub(super) fn from_text(text: &str) -> Self {
        let mut queue: Self = serde_json::from_str(text).unwrap_or_default();
        queue.messages.truncate(MAX_QUEUED);
        queue.is_sending &= !queue.messages.is_empty();
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

    /// Takes out the message with this id.
    pub(super) fn remove(&mut self, id: &str) -> Option<Queued> {
        let at = self.messages.iter().position(|queued| queued.id == id)?;
        self.is_sending &= at > 0;
        self.edited = self.edited.take().filter(|edited| edited != id);
        Some(self.messages.remove(at))
    }

    /// The first has arrived.
    pub(super) fn arrived(&mut self) {
        if std::mem::take(&mut self.is_sending) {
            self.messages.remove(0);
        }
    }
}
