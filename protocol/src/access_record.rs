//! Access records: what admins did with a user's data and account, as the API shows them to that user.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ToolCallId;

/// Kind of an access or a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LookKind))]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Opened a tool call.
    CallOpened,
    /// Opened a conversation.
    ConversationOpened,
    /// Searched the texts of calls.
    CallsSearched,
    /// Exported calls.
    CallsExported,
    /// Set a new password.
    PasswordChanged,
    /// Linked an identity.
    IdentityLinked,
    /// Unlinked an identity.
    IdentityUnlinked,
    /// Revoked API keys.
    KeysRevoked,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

impl From<String> for AccessKind {
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Look))]
pub struct AccessRecord {
    /// ID of the record.
    pub id: i64,
    /// Kind of the access or the change.
    pub kind: AccessKind,
    /// Name of the admin; empty for the operator's command line.
    pub by: String,
    /// The reason that the admin gave for the access; empty for a change of the account.
    pub reason: String,
    /// Row id of the call that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// UUID of the conversation that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_uuid: Option<Uuid>,
    /// The filter of the search or export, as the admin wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Time of the access or the change.
    pub created_at: DateTime<Utc>,
}
