//! Conversations that are shared by a link, in the state in which they were shared.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Message, ShareId};

/// Body of `POST /api/conversations/{uuid}/shares`. Optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewShare {
    /// `true` to share the tool calls, too.
    #[serde(default)]
    pub tool_calls: bool,
    /// `true` to share the files of messages, too, and those of tool calls if these are shared.
    #[serde(default)]
    pub files: bool,
}

/// A public link to a conversation, as `GET /api/shares` lists it. Anyone with the link can read the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Share {
    /// Row id of the link.
    pub id: ShareId,
    /// The path of the link, `/s/…`.
    pub path: String,
    /// UUID of the conversation.
    pub conversation_uuid: Uuid,
    /// Title of the conversation when it was shared.
    pub title: String,
    /// `true` if the link also shows the tool calls.
    pub tool_calls: bool,
    /// `true` if the link also shows files.
    pub files: bool,
    /// Time at which the conversation was shared.
    pub created_at: DateTime<Utc>,
}

/// Content of a shared link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedConversation {
    /// The path of the link, `/s/…`.
    pub path: String,
    /// Title of the conversation when it was shared.
    pub title: String,
    /// Messages of the branch that was shown, oldest first.
    pub messages: Vec<Message>,
    /// Time at which the conversation was shared.
    pub shared_at: DateTime<Utc>,
}
