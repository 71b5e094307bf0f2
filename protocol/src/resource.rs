//! The resources of the REST API, as JSON carries them. Row ids are integers, conversations are known by their UUID.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MessageId, MessageStatus, RawJson, Role, ToolCallId, ToolCallStatus, Usage};

/// Body of `POST /api/conversations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewConversation {
    /// Shown in the sidebar; taken from the first message when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Body of `PATCH /api/conversations/{uuid}`: what is to be different, at least one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateConversation {
    /// The new title, 1 to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is pinned; at most 100 are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether it is in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// A part of what a person sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
}

/// Body of `POST /api/conversations/{uuid}/messages`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    /// What the user wrote, when it is nothing but text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The same as a list of parts, in place of `content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MessagePart>,
    /// Chosen by the client, unique in the conversation: sending it twice makes one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// A message of the user's that this is another version of. Both stay; what is shown from now on begins with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<MessageId>,
}

/// One page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// A conversation as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationSummary {
    /// Its name on the wire and in addresses.
    pub uuid: Uuid,
    /// Never empty.
    pub title: String,
    /// Whether a turn runs at this moment.
    pub running: bool,
    /// Whether the user wants it at hand.
    #[serde(default)]
    pub pinned: bool,
    /// Whether it is put away: lists leave it out, and a message takes it out again.
    #[serde(default)]
    pub archived: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When a message was last added.
    pub updated_at: DateTime<Utc>,
}

/// Query of `GET /api/conversations/{uuid}`: which messages of the branch that is shown; all of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The newest, so many of them, 1 to 200; one more where a question would be cut off from its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Of those alone that lead up to this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MessageId>,
    /// And back to this message, however many those are; nothing when it is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<MessageId>,
}

/// What comes before the messages of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// How many messages.
    pub count: i64,
    /// What those cost together.
    pub usage: Usage,
}

/// A conversation with the messages of the branch that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FlatConversation")]
pub struct Conversation {
    /// What lists show of it.
    #[serde(flatten)]
    pub summary: ConversationSummary,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// What comes before them; absent when they begin with the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// The assistant message whose turn runs, if one does.
    pub active_message_id: Option<MessageId>,
}

/// What [`Conversation`] is read from. Reading through `flatten` would buffer the messages, and a [`RawJson`] cannot be
/// read from serde's buffer.
#[derive(Deserialize)]
struct FlatConversation {
    uuid: Uuid,
    title: String,
    running: bool,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    archived: bool,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    messages: Vec<Message>,
    #[serde(default)]
    earlier: Option<Earlier>,
    active_message_id: Option<MessageId>,
}

impl From<FlatConversation> for Conversation {
    fn from(flat: FlatConversation) -> Self {
        let FlatConversation { uuid, title, running, pinned, archived, created_at, updated_at, .. } = flat;
        let summary = ConversationSummary { uuid, title, running, pinned, archived, created_at, updated_at };
        let FlatConversation { messages, earlier, active_message_id, .. } = flat;
        Self { summary, messages, earlier, active_message_id }
    }
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Row id.
    pub id: MessageId,
    /// Who wrote it.
    pub role: Role,
    /// The lease under which the turn ran last, which grows whenever it goes on after it was cut off; 0 for a person's.
    #[serde(default)]
    pub epoch: i32,
    /// Its text; Markdown when the assistant wrote it.
    pub content: String,
    /// Where it stands.
    pub status: MessageStatus,
    /// What went wrong, in words for the reader; only with `failed` or `interrupted`.
    pub error: Option<String>,
    /// The stable name of what went wrong, as the `error` event carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Why the model stopped, as in `message_end`; absent when it did not.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// The calls made while answering, in the order asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Row ids of all versions of this message, itself among them, oldest first; empty when it is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<MessageId>,
    /// Tokens of the turn's finished steps; absent where the provider counts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Who provided the model of the turn's last finished step; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
    /// When it was whole, or its turn ended in another way; absent while it is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<DateTime<Utc>>,
}

/// One use of a tool, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Row id.
    pub tool_call_id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub tool_name: String,
    /// The arguments exactly as the model wrote them; a JSON string when they were not JSON, or with their beginning.
    pub input: RawJson,
    /// How many UTF-8 bytes the arguments have as the model wrote them; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<i64>,
    /// Where in the message's text it happened, in UTF-8 bytes.
    pub offset: i64,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What the tool gave back.
    pub output: Option<String>,
    /// How many UTF-8 bytes the output has; only with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<i64>,
    /// Why it failed, e.g. `invalid_b: division by zero`.
    pub error: Option<String>,
    /// Whether something was left out of the texts here; `GET /api/tool-calls/{id}` gives all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How long it ran, in milliseconds; absent while it runs.
    pub duration_ms: Option<i64>,
    /// When it was stored, which is just before it ran.
    pub started_at: DateTime<Utc>,
}

/// A tool as `GET /api/tools` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Unique name.
    pub name: String,
    /// What it does, as the model is told.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: serde_json::Value,
    /// `low` or `high`.
    pub risk: String,
}

/// Which model answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `anthropic`, `openai`, …, or `demo`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// An error answer, `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A stable identifier of the kind of problem, e.g. `/problems/turn-running`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in words.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// What is wrong with this request and what to do about it.
    pub detail: String,
    /// Names this request in the server's log.
    pub request_id: String,
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{
        Conversation, ConversationSummary, Earlier, Message, MessageId, MessageStatus, RawJson, Role, ToolCall,
        ToolCallId, ToolCallStatus, Usage, Uuid,
    };

    #[test]
    fn a_conversation_is_read_back_with_every_digit_of_its_inputs() {
        let at = DateTime::UNIX_EPOCH;
        let summary = ConversationSummary {
            uuid: Uuid::nil(),
            title: "Sums".to_owned(),
            running: true,
            pinned: true,
            archived: true,
            created_at: at,
            updated_at: at,
        };
        let call = ToolCall {
            tool_call_id: ToolCallId(7),
            tool_name: "add".to_owned(),
            input: RawJson::from_text(r#"{"b": 0.1000000000000000000000000000001, "a": [1e400]}"#),
            input_bytes: None,
            offset: 0,
            status: ToolCallStatus::Pending,
            output: None,
            output_bytes: None,
            error: None,
            truncated: false,
            duration_ms: None,
            started_at: at,
        };
        let message = Message {
            id: MessageId(2),
            role: Role::Assistant,
            epoch: 1,
            content: "</script>".to_owned(),
            status: MessageStatus::Streaming,
            error: None,
            error_code: None,
            stop_reason: None,
            tool_calls: vec![call],
            siblings: vec![MessageId(2), MessageId(3)],
            usage: Some(Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 0 }),
            provider: Some("demo".to_owned()),
            model: Some("demo".to_owned()),
            created_at: at,
            completed_at: None,
        };
        let earlier = Some(Earlier { count: 8, usage: Usage { input_tokens: 9, output_tokens: 1, cached_tokens: 0 } });
        let conversation =
            Conversation { summary, messages: vec![message], earlier, active_message_id: Some(MessageId(2)) };
        let json = serde_json::to_string(&conversation).unwrap();
        assert!(json.contains(r#""input":{"b": 0.1000000000000000000000000000001, "a": [1e400]}"#), "{json}");
        assert_eq!(serde_json::from_str::<Conversation>(&json).unwrap(), conversation);

        let whole = Conversation { earlier: None, ..conversation };
        let json = serde_json::to_string(&whole).unwrap();
        assert!(!json.contains("earlier"), "{json}");
        assert_eq!(serde_json::from_str::<Conversation>(&json).unwrap(), whole);
    }
}
