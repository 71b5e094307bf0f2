//! Stored forms of a message on its way and of an edited question.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{MessageId, NewMessage};

use super::shown::Edited;

/// A message that was sent and is not known to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(super) message: NewMessage,
    /// The last message that was here before it was sent.
    pub(super) last: Option<MessageId>,
}

/// The text of a question that is being edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptEdit {
    pub(super) id: MessageId,
    pub(super) text: String,
}

impl From<KeptEdit> for Edited {
    fn from(KeptEdit { id, text }: KeptEdit) -> Self {
        Self { id, text, is_changed: true }
    }
}
