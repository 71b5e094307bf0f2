//! Messages that the server has not stored yet, and questions that are being edited, as the page keeps them.

use serde::{Deserialize, Serialize};
use tallybook_protocol::{AnswerMode, FileKind, MessageFile, MessageId, MessagePart, NewMessage};

use super::{files::AttachedFile, shown::Edited};

/// A message that is to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnsentMessage {
    /// The user's text; empty if the message consists of files alone.
    pub(crate) content: String,
    /// The files, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<MessageFile>,
    /// The ID with which the server stores the message only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_message_id: Option<String>,
    /// The message that this one is another version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit_of: Option<MessageId>,
    /// The model that was chosen for this message only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The mode of the answer.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub(crate) mode: AnswerMode,
}

impl UnsentMessage {
    /// Converts the message to the body of the request that sends it.
    pub(crate) fn to_request(&self) -> NewMessage {
        let Self { content, files, client_message_id, edit_of, model, mode } = self.clone();
        let mut parts: Vec<MessagePart> = files.iter().map(part).collect();
        let has_parts = !parts.is_empty();
        if has_parts && !content.is_empty() {
            parts.insert(0, MessagePart::Text { text: content.clone() });
        }
        let content = if has_parts { String::new() } else { content };
        NewMessage { content, parts, client_message_id, edit_of, model, mode }
    }

    /// Returns `true` if a message with this text and these files is the same one.
    pub(super) fn says(&self, content: &str, files: &[MessageFile]) -> bool {
        self.content == content && same_files(&self.files, files)
    }
}

/// Returns `true` if both lists have the same files. The part of a file that the model received does not matter.
pub(super) fn same_files(files: &[MessageFile], others: &[MessageFile]) -> bool {
    files.iter().map(|file| file.id).eq(others.iter().map(|file| file.id))
}

fn part(file: &MessageFile) -> MessagePart {
    match file.kind {
        FileKind::Image => MessagePart::Image { file_id: file.id },
        FileKind::Document | FileKind::Text => MessagePart::File { file_id: file.id },
    }
}

/// A message that was sent and is not known to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(super) message: UnsentMessage,
    /// The last message that was here before it was sent.
    pub(super) last: Option<MessageId>,
}

/// The text and files of a question that is being edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptEdit {
    pub(super) id: MessageId,
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<MessageFile>,
}

impl From<KeptEdit> for Edited {
    fn from(KeptEdit { id, text, files }: KeptEdit) -> Self {
        let files = files.into_iter().map(AttachedFile::stored).collect();
        Self { id, text, files, is_changed: true, is_from_field: false }
    }
}
