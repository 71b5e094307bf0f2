//! What a reader sees of where a session is and what it does.

use tallybook_protocol::{MessageId, MessageStatus};
use uuid::Uuid;

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A chat that becomes a conversation with its first message.
    NewChat,
    /// A conversation whose messages are on their way.
    Loading(Uuid),
    /// A conversation that could not be loaded, for this reason. It is tried again.
    Failed(Uuid, String),
    /// A conversation.
    Open(Uuid),
    /// There is nothing at this address.
    Missing,
    /// A conversation that was deleted while it was open. It can still be read.
    Deleted,
}

/// What the session is doing, as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing runs.
    Idle,
    /// A message is on its way and not yet known to be stored.
    Sending,
    /// A turn runs and is read along.
    Following,
    /// A turn runs; the connection is down, and the next attempt is in so many seconds.
    Reconnecting(u64),
    /// A turn runs, and nobody is looking: it is read on when the tab is shown again.
    Hidden,
    /// A turn has paused until somebody decides on its calls.
    Awaiting,
}

/// How it stands with something that is loaded when the reader wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// Nobody waits for it.
    Idle,
    /// It is on its way.
    Running,
    /// It could not be loaded; in words for the reader.
    Failed(String),
}

/// An answer and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) id: MessageId,
    pub(crate) status: MessageStatus,
    pub(crate) stop_reason: Option<String>,
}

/// The ways in which an answer can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    Complete,
    Stopped,
    Failed,
    /// It is there, and something of it is missing.
    CutOff,
}

impl Answer {
    /// Returns how it ended; `None` while it has not.
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

/// A message of one's own that is being changed in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) id: MessageId,
    /// What is in its field.
    pub(crate) text: String,
    /// `true` once the user has typed in the field.
    pub(crate) is_changed: bool,
}

/// Which way from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Older,
    Newer,
}

impl Step {
    /// The version that this leads to.
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

    /// What the page calls the button that leads from the version `id`.
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
