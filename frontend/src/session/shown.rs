//! The state of a session as the user sees it.

use tallybook_protocol::{MessageId, MessageStatus};
use uuid::Uuid;

use super::files::AttachedFile;

/// The place that a session shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A chat that becomes a conversation with its first message.
    NewChat,
    /// A conversation that is being loaded.
    Loading(Uuid),
    /// A conversation that could not be loaded, for this reason. Loading is retried.
    Failed(Uuid, String),
    /// A conversation.
    Open(Uuid),
    /// A conversation that does not exist.
    Missing,
    /// A conversation that was deleted while it was open. It can still be read.
    Deleted,
}

/// The activity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No turn runs.
    Idle,
    /// A message is being sent and not known to be stored yet.
    Sending,
    /// A turn runs, and its events are followed.
    Following,
    /// A turn runs. The connection is interrupted, and the next attempt is in this many seconds.
    Reconnecting(u64),
    /// A turn runs, but the tab is hidden. Its events are followed once the tab is shown.
    Hidden,
    /// A turn waits for decisions on its calls.
    Awaiting,
}

/// The state of something that is loaded on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// It is not being loaded.
    Idle,
    /// It is being loaded.
    Running,
    /// It could not be loaded, for this reason.
    Failed(String),
}

/// An answer and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) id: MessageId,
    pub(crate) status: MessageStatus,
    pub(crate) stop_reason: Option<String>,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    Complete,
    Stopped,
    Failed,
    /// It ended before it was complete.
    CutOff,
}

impl Answer {
    /// Returns how the answer ended; `None` until it has.
    pub(crate) fn end(&self) -> Option<AnswerEnd> {
        match (self.status, self.stop_reason.as_deref()) {
            (MessageStatus::Complete, None | Some("end_turn" | "tool_use" | "client_calls" | "refusal")) => {
                Some(AnswerEnd::Complete)
            }
            (MessageStatus::Complete, Some(_)) | (MessageStatus::Interrupted, _) => Some(AnswerEnd::CutOff),
            (MessageStatus::Stopped, _) => Some(AnswerEnd::Stopped),
            (MessageStatus::Failed, _) => Some(AnswerEnd::Failed),
            (MessageStatus::Streaming | MessageStatus::AwaitingApproval | MessageStatus::Unknown, _) => None,
        }
    }
}

/// A question that is being edited in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) id: MessageId,
    /// The text of its field.
    pub(crate) text: String,
    /// The files of the question, without those that the user removed, and those that the user added.
    pub(crate) files: Vec<AttachedFile>,
    /// `true` once the user has changed the text or the files.
    pub(crate) is_changed: bool,
    /// `true` if the edit was started from the message field, which gets the focus back.
    pub(crate) is_from_field: bool,
}

/// The direction from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Older,
    Newer,
}

impl Step {
    /// Returns the version in this direction from the one at `at`.
    pub(crate) fn from(self, at: usize, siblings: &[MessageId]) -> Option<MessageId> {
        let to = match self {
            Self::Older => at.checked_sub(1)?,
            Self::Newer => at + 1,
        };
        siblings.get(to).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Older => "older-version",
            Self::Newer => "newer-version",
        }
    }

    /// Returns the ID of the button that leads from the version `id` in this direction.
    pub(crate) fn button(self, id: MessageId) -> String {
        format!("{}-{id}", self.name())
    }

    pub(crate) fn back(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }
}
