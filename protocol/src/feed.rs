//! Events of a user's feed (`GET /api/events`), for sidebars and idle tabs.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Response header of the feed with the version of the server's page: the path of the folder with the page's files.
pub const PAGE_HEADER: &str = "tallybook-page";

/// A change of one of the user's conversations. [`FeedEvent::name`] returns the SSE event name; the data is this struct
/// as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeedEvent {
    /// UUID of the conversation.
    pub conversation_id: Uuid,
    /// Kind of the change.
    pub kind: FeedKind,
    /// The new title; with `conversation_created` and `conversation_renamed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` if the conversation is now pinned; with `conversation_updated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// `true` if the conversation is now archived; with `conversation_updated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Name of the conversation's model now, with `conversation_updated`; absent for the server's default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Kind of a change of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeedKind {
    /// The conversation was created.
    ConversationCreated,
    /// The title changed.
    ConversationRenamed,
    /// The conversation was pinned, archived or the reverse, started or stopped waiting for approval, or has another
    /// model.
    ConversationUpdated,
    /// The conversation was deleted.
    ConversationDeleted,
    /// A turn started.
    TurnStarted,
    /// A turn ended.
    TurnEnded,
    /// Another branch is shown now.
    BranchSelected,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

impl FeedKind {
    /// Returns `true` if the shown messages are others after the change.
    pub const fn changes_messages(self) -> bool {
        matches!(self, Self::ConversationDeleted | Self::TurnStarted | Self::TurnEnded | Self::BranchSelected)
    }
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
