//! Conversations that are shared by a link, in the state in which they were shared.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Message, ShareId};

/// Body of `POST /api/conversations/{uuid}/shares`. It may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewShare {
    /// Whether the tool calls are shared, too.
    #[serde(default)]
    pub tool_calls: bool,
}

/// A link that shows a conversation to whoever has it, as `GET /api/shares` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Share {
    /// Row id.
    pub id: ShareId,
    /// The path of the link, `/s/…`.
    pub path: String,
    /// The conversation.
    pub conversation_uuid: Uuid,
    /// What the conversation was called when it was shared.
    pub title: String,
    /// Whether its tool calls are shared, too.
    pub tool_calls: bool,
    /// When it was shared.
    pub created_at: DateTime<Utc>,
}

/// Content of a shared link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedConversation {
    /// Title of the conversation when it was shared.
    pub title: String,
    /// Messages of the branch that was shown, oldest first.
    pub messages: Vec<Message>,
    /// When it was shared.
    pub shared_at: DateTime<Utc>,
}
