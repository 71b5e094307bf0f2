//! Conversations, as the REST API sends and receives them. Row IDs are integers; conversations are identified by their
//! UUID.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::{Message, MessageId, Usage, time};

/// Response to `DELETE /api/conversations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedConversations {
    /// Number of conversations that the request deleted.
    pub deleted: u64,
}

/// Body of `POST /api/conversations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewConversation {
    /// Title in the sidebar. If absent, it is derived from the first message.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Name of the model that answers in the conversation. If absent, the server's default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tools that are turned off in the conversation from the start, as in [`crate::DisabledTools`].
    #[cfg_attr(feature = "openapi", schema(max_items = 500))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
}

/// Body of `POST /api/conversations/{uuid}/fork`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewFork {
    /// Row id of the complete answer with which the new conversation ends.
    pub message_id: MessageId,
    /// An ID that the client chooses for the new conversation, unique among the user's conversations. A request that is
    /// sent twice with the same ID creates one conversation.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 64, pattern = "^[!-~]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_conversation_id: Option<String>,
}

/// Body of `PATCH /api/conversations/{uuid}`: the fields to change, at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateConversation {
    /// The new title, 1 to 200 characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` to pin the conversation. At most 100 conversations can be pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// `true` to archive the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Name of the model that will answer in the conversation; null for the server's default model.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub model: Option<Option<String>>,
}

/// Reads a value that is present, including null. An absent value gets the default.
#[expect(clippy::option_option, reason = "absent, null and a name mean different things")]
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Body of `POST /api/conversations/{uuid}/messages/{id}/regenerate` and of `POST …/continue`. Optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AnswerAgain))]
pub struct RetryOptions {
    /// Name of the model to use. If absent, the conversation's model regenerates an answer, and an answer is continued
    /// by the model that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A conversation as it appears in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own on the wire")]
pub struct ConversationSummary {
    /// ID of the conversation, which URLs contain.
    pub uuid: Uuid,
    /// Title of the conversation; never empty.
    pub title: String,
    /// `true` while a turn is running.
    pub running: bool,
    /// `true` while a turn waits for a decision on its tool calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_approval: bool,
    /// `true` if the user pinned the conversation.
    #[serde(default)]
    pub pinned: bool,
    /// `true` if the conversation is archived: lists do not contain it by default. Sending a message restores it.
    #[serde(default)]
    pub archived: bool,
    /// Name of the model that answers in the conversation; absent for the server's default model. The model may no
    /// longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Time of creation.
    #[serde(deserialize_with = "time::read")]
    pub created_at: DateTime<Utc>,
    /// Time at which the last message was added.
    #[serde(deserialize_with = "time::read")]
    pub updated_at: DateTime<Utc>,
}

impl ConversationSummary {
    /// Returns `true` if no turn runs or waits for approval.
    pub const fn is_idle(&self) -> bool {
        !self.running && !self.awaiting_approval
    }
}

/// Query of `GET /api/conversations/{uuid}`: selects messages of the shown branch; by default all of them.
///
/// A response contains at most 16 MiB of text: whole exchanges of a question and its answer, counted back from the last
/// message. The last exchange is always included, even if it is larger. [`Earlier`] counts the messages before the
/// first one in the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct Window {
    /// Maximum number of messages, from 1 to 200; values outside are clamped. The newest messages are selected, and one
    /// more if the first one would be an answer without its question.
    #[cfg_attr(feature = "openapi", param(format = "uint32", maximum = 4_294_967_295.0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Selects only messages that lead up to this message, without the message itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MessageId>,
    /// Extends the selection back to this message, regardless of `limit`. Ignored if the message is not on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<MessageId>,
}

/// The messages before those of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Earlier {
    /// Number of messages.
    pub count: i64,
    /// Total tokens and cost of these messages.
    pub usage: Usage,
}

/// A conversation with the messages of the branch that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "FlatConversation")]
pub struct Conversation {
    /// The fields that lists show.
    #[serde(flatten)]
    pub summary: ConversationSummary,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The messages before `messages`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// Row id of the assistant message whose turn is running; null if no turn is running.
    pub active_message_id: Option<MessageId>,
}

/// Type from which [`Conversation`] is read. Reading through `flatten` would buffer the messages, and a [`RawJson`]
/// cannot be read from serde's buffer.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own on the wire")]
struct FlatConversation {
    uuid: Uuid,
    title: String,
    running: bool,
    #[serde(default)]
    awaiting_approval: bool,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    model: Option<String>,
    #[serde(deserialize_with = "time::read")]
    created_at: DateTime<Utc>,
    #[serde(deserialize_with = "time::read")]
    updated_at: DateTime<Utc>,
    messages: Vec<Message>,
    #[serde(default)]
    earlier: Option<Earlier>,
    active_message_id: Option<MessageId>,
}

impl From<FlatConversation> for Conversation {
    fn from(flat: FlatConversation) -> Self {
        let summary = ConversationSummary {
            uuid: flat.uuid,
            title: flat.title,
            running: flat.running,
            awaiting_approval: flat.awaiting_approval,
            pinned: flat.pinned,
            archived: flat.archived,
            model: flat.model,
            created_at: flat.created_at,
            updated_at: flat.updated_at,
        };
        let (messages, earlier, active_message_id) = (flat.messages, flat.earlier, flat.active_message_id);
        Self { summary, messages, earlier, active_message_id }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::{Conversation, ConversationSummary, Earlier, UpdateConversation};
    use crate::{
        AnswerMode, ContextTruncation, Feedback, Message, MessageId, MessageStatus, Rating, RawJson, Role, ToolCall,
        ToolCallId, ToolCallStatus, Usage,
    };

    #[test]
    fn a_conversation_is_read_back_with_every_digit_of_its_inputs() {
        let at = DateTime::UNIX_EPOCH;
        let summary = ConversationSummary {
            uuid: Uuid::nil(),
            title: "Sums".to_owned(),
            running: true,
            awaiting_approval: false,
            pinned: true,
            archived: true,
            model: Some("Sonnet".to_owned()),
            created_at: at,
            updated_at: at,
        };
        let call = ToolCall {
            tool_call_id: ToolCallId(7),
            tool_name: "add".to_owned(),
            input: RawJson::from_text(r#"{"b": 0.1000000000000000000000000000001, "a": [1e400]}"#),
            input_bytes: None,
            proposed_input: None,
            offset: 0,
            status: ToolCallStatus::Pending,
            output: None,
            output_bytes: None,
            error: None,
            error_type: None,
            truncated: false,
            duration_ms: None,
            started_at: at,
            reviews: Vec::new(),
            decision: None,
            files: Vec::new(),
        };
        let message = Message {
            id: MessageId(2),
            role: Role::Assistant,
            epoch: 1,
            content: "</script>".to_owned(),
            files: Vec::new(),
            status: MessageStatus::Streaming,
            error: None,
            error_code: None,
            stop_reason: None,
            tool_calls: vec![call],
            reasoning: Vec::new(),
            plan: None,
            mode: AnswerMode::Plan,
            siblings: vec![MessageId(2), MessageId(3)],
            usage: Some(Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 0, cost_nanos: Some(81_000) }),
            provider: Some("demo".to_owned()),
            model: Some("demo".to_owned()),
            context: Some(ContextTruncation { from: MessageId(2), summary: Some("They add.".to_owned()) }),
            feedback: Some(Feedback { rating: Rating::Down, reason: None }),
            created_at: at,
            completed_at: None,
        };
        let earlier =
            Some(Earlier { count: 8, usage: Usage { input_tokens: 9, output_tokens: 1, ..Usage::default() } });
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

    #[test]
    fn a_null_model_differs_from_an_absent_one() {
        for (json, model) in [
            ("{}", None),
            (r#"{"model":null}"#, Some(None)),
            (r#"{"model":"Sonnet"}"#, Some(Some("Sonnet".to_owned()))),
        ] {
            let update: UpdateConversation = serde_json::from_str(json).unwrap();
            assert_eq!(update.model, model);
            assert_eq!(serde_json::to_string(&update).unwrap(), json);
        }
    }
}
