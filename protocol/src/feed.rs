//! Events of a user's feed (`GET /api/events`), for sidebars and idle tabs.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Response header of the feed that names the version of the server's page: the address of the folder with the page's files.
pub const PAGE_HEADER: &str = "tallybook-page";

/// Something happened to one of the user's conversations. Serialised as the SSE data; [`FeedEvent::name`] is the SSE
/// event name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeedEvent {
    /// Which conversation.
    pub conversation_id: Uuid,
    /// What happened.
    pub kind: FeedKind,
    /// The title from now on, with `conversation_created` and `conversation_renamed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is pinned from now on, with `conversation_updated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether it is in the archive from now on, with `conversation_updated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// The name of its model from now on, with `conversation_updated`; absent for the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What happened to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeedKind {
    /// It was made.
    ConversationCreated,
    /// It has another title.
    ConversationRenamed,
    /// It was pinned or put into the archive, waits for a decision on tool calls, or no longer does; or it has another model.
    ConversationUpdated,
    /// It is gone.
    ConversationDeleted,
    /// A turn began in it.
    TurnStarted,
    /// Its turn ended.
    TurnEnded,
    /// Another branch of it is shown.
    BranchSelected,
    /// Something that this reader does not know yet.
    #[serde(other)]
    Unknown,
}

impl FeedEvent {
    /// Returns the SSE event name.
    pub fn name(&self) -> &'static str {
        match self.kind {
            FeedKind::ConversationCreated => "conversation_created",
            FeedKind::ConversationRenamed => "conversation_renamed",
            FeedKind::ConversationUpdated => "conversation_updated",
            FeedKind::ConversationDeleted => "conversation_deleted",
            FeedKind::TurnStarted => "turn_started",
            FeedKind::TurnEnded => "turn_ended",
            FeedKind::BranchSelected => "branch_selected",
            FeedKind::Unknown => "unknown",
        }
    }
}
