//! Access records: what admins did with a user's data and account, as the API shows them to that user.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ToolCallId;

/// What somebody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LookKind {
    /// Opened a tool call.
    CallOpened,
    /// Opened a conversation.
    ConversationOpened,
    /// Searched in the texts of calls.
    CallsSearched,
    /// Exported calls.
    CallsExported,
    /// Set another password.
    PasswordChanged,
    /// Linked an identity.
    IdentityLinked,
    /// Unlinked an identity.
    IdentityUnlinked,
    /// Revoked API keys.
    KeysRevoked,
    /// Something that this reader does not know yet.
    #[serde(other)]
    Unknown,
}

impl From<String> for LookKind {
    fn from(word: String) -> Self {
        match &*word {
            "call_opened" => Self::CallOpened,
            "conversation_opened" => Self::ConversationOpened,
            "calls_searched" => Self::CallsSearched,
            "calls_exported" => Self::CallsExported,
            "password_changed" => Self::PasswordChanged,
            "identity_linked" => Self::IdentityLinked,
            "identity_unlinked" => Self::IdentityUnlinked,
            "key_revoked" | "keys_revoked" => Self::KeysRevoked,
            _ => Self::Unknown,
        }
    }
}

/// An admin's access to a user's data, or change of the user's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Look {
    /// Names the look.
    pub id: i64,
    /// What was done.
    pub kind: LookKind,
    /// The admin; empty for the operator of the server.
    pub by: String,
    /// The reason that the admin gave for looking; empty for a change of the account.
    pub reason: String,
    /// The call that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The conversation that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_uuid: Option<Uuid>,
    /// What was searched for or exported, as the filter was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
}
