//! Roles of messages, and statuses of messages and tool calls. Their names are the same on the wire and in the
//! database.

use serde::{Deserialize, Serialize};

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// The model. The message is the turn that writes it.
    Assistant,
}

impl From<String> for Role {
    /// Converts every name except `user` to the assistant.
    fn from(word: String) -> Self {
        if word == "user" { Self::User } else { Self::Assistant }
    }
}

/// Status of a message. User messages are always `complete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// The turn ended normally.
    Complete,
    /// The turn is running.
    Streaming,
    /// The user stopped the turn.
    Stopped,
    /// The turn ended with an error, which `error` describes.
    Failed,
    /// The server stopped, or could not store the turn, before the turn ended.
    Interrupted,
    /// The turn has paused. It resumes when the user has decided on its waiting calls.
    AwaitingApproval,
    /// A status that this version does not know.
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

/// Status of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// The call is stored, and runs or is about to run.
    Pending,
    /// The call waits for a decision.
    AwaitingApproval,
    /// The call returned an output.
    Success,
    /// The call failed. `error` says why.
    Error,
    /// The call was denied.
    Denied,
    /// The turn was stopped while the call ran.
    Cancelled,
    /// The server stopped while the call ran. The tool may have run.
    Interrupted,
    /// A status that this version does not know.
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
    fn as_str_returns_the_name_on_the_wire() {
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
