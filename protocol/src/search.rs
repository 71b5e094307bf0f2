//! Responses of `GET /api/search` and `GET /api/conversations/{uuid}/search`. Every text in them is data, not markup.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MessageId, Role, ToolCallId};

/// A page of search results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchPage {
    /// The matches, newest first. A search within one conversation returns them in the conversation's order.
    pub items: Vec<SearchHit>,
    /// Pass as `cursor` to continue the search after this page; null if everything was searched.
    pub next_cursor: Option<String>,
    /// `false` if the time limit for a page ended before the page was full. There may be more matches after
    /// `next_cursor`.
    pub complete: bool,
}

/// A match: a text that contains all words of the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// UUID of the conversation.
    pub conversation_uuid: Uuid,
    /// Title of the conversation.
    pub title: String,
    /// Row id of the message; absent if the match is in the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Author of the message; absent if the match is in the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Row id of the message's tool call that contains the match; absent if the match is not in a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// Name of the tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `true` if the match is on the shown branch.
    pub shown: bool,
    /// The matching words with the text around them: at most about 160 characters, without control characters.
    pub snippet: Vec<SnippetPart>,
    /// Time at which the message was stored, the call was made, or the conversation was created.
    pub created_at: DateTime<Utc>,
}

/// A part of a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnippetPart {
    /// Text of the part.
    pub text: String,
    /// `true` if the part matches a word of the search.
    pub is_match: bool,
}
