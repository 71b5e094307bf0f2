//! Roles of messages, and statuses of messages and tool calls. Their names are the same on the wire and in the database.

use serde::{Deserialize, Serialize};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person.
    User,
    /// The model; the row is the turn.
    Assistant,
}

impl From<String> for Role {
    /// Converts every name except `user` to the assistant.
    fn from(word: String) -> Self {
        if word == "user" { Self::User } else { Self::Assistant }
    }
}

/// Where a message stands. User messages are always `complete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// The turn ended by itself.
    Complete,
    /// The turn runs.
    Streaming,
    /// A person stopped the turn.
    Stopped,
    /// The turn ended in an error; `error` says which.
    Failed,
    /// The server went away during the turn.
    Interrupted,
    /// The turn has paused: it goes on when somebody has decided on its calls that wait.
    AwaitingApproval,
    /// A status that this reader does not know yet.
    #[serde(other)]
    Unknown,
}

impl MessageStatus {
    const ALL: [Self; 6] =
        [Self::Complete, Self::Streaming, Self::Stopped, Self::Failed, Self::Interrupted, Self::AwaitingApproval];

    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Streaming => "streaming",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Unknown => "unknown",
        }
    }

    /// Returns `true` if the turn ended before its answer was complete, so that it can be resumed.
    pub fn is_cut_off(self) -> bool {
        matches!(self, Self::Interrupted | Self::Stopped | Self::Failed)
    }
}

impl From<String> for MessageStatus {
    /// Converts a name; a name that this version does not know becomes [`MessageStatus::Unknown`].
    fn from(word: String) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or(Self::Unknown)
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Stored; it runs or is about to.
    Pending,
    /// Waits for a person's decision.
    AwaitingApproval,
    /// It gave an output.
    Success,
    /// It failed; `error` says how.
    Error,
    /// A person refused it.
    Denied,
    /// The turn was stopped while it ran.
    Cancelled,
    /// The server went away while it ran. It may have run.
    Interrupted,
    /// A status that this reader does not know yet.
    #[serde(other)]
    Unknown,
}

impl ToolCallStatus {
    /// Statuses that this version knows.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::AwaitingApproval,
        Self::Success,
        Self::Error,
        Self::Denied,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }

    /// Returns `true` if the call has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::AwaitingApproval)
    }
}

impl From<String> for ToolCallStatus {
    /// Converts a name; a name that this version does not know becomes [`ToolCallStatus::Unknown`].
    fn from(word: String) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::{MessageStatus, ToolCallStatus};

    #[test]
    fn the_word_of_a_status_is_the_one_on_the_wire() {
        for status in MessageStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(MessageStatus::from(status.as_str().to_owned()), status);
        }
        for status in ToolCallStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(ToolCallStatus::from(status.as_str().to_owned()), status);
        }
        assert_eq!(MessageStatus::from("later".to_owned()), MessageStatus::Unknown);
    }
}
