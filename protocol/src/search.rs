//! Responses of `GET /api/search` and `GET /api/conversations/{uuid}/search`. Every text in them is data, not markup.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MessageId, Role, ToolCallId};

/// One page of what a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchPage {
    /// The newest first; within one conversation in its own order.
    pub items: Vec<SearchHit>,
    /// Pass as `cursor` to go on from where this page ended; absent when all was searched.
    pub next_cursor: Option<String>,
    /// False when the time for one page was used up before it was full: there may be more, from `next_cursor` on.
    pub complete: bool,
}

/// A place where all words of a search stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// The conversation.
    pub conversation_uuid: Uuid,
    /// Its title.
    pub title: String,
    /// The message; absent when the words stand in the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Who wrote the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The tool call of the message in which the words stand, if it is not the message's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Whether it is on the branch that is shown.
    pub shown: bool,
    /// The words and what stands around them, at most about 160 characters, without control characters.
    pub snippet: Vec<SnippetPart>,
    /// When the message was stored, the call made, or the conversation.
    pub created_at: DateTime<Utc>,
}

/// A stretch of a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnippetPart {
    /// Its text.
    pub text: String,
    /// Whether this is what was looked for.
    pub is_match: bool,
}
