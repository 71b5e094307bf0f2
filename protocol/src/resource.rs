//! Resources of the REST API, as JSON. Row IDs are integers; conversations are identified by their UUID.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::{AnswerMode, MessageId, MessageStatus, Plan, Reasoning, Role, ToolCall, Usage, time};

/// Body of `POST /api/conversations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewConversation {
    /// Shown in the sidebar; taken from the first message when absent.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Which model of the catalog answers in it; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools that are turned off in it from the start, as in [`crate::DisabledTools`].
    #[cfg_attr(feature = "openapi", schema(max_items = 500))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
}

/// Body of `PATCH /api/conversations/{uuid}`: what is to be different, at least one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateConversation {
    /// The new title, 1 to 200 characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is pinned; at most 100 are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether it is in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Which model of the catalog answers in it from now on; null for the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub model: Option<Option<String>>,
}

/// Reads a value that is present, including null. An absent value gets the default.
#[expect(clippy::option_option, reason = "absent, null and a name are three things to say")]
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Body of `POST /api/conversations/{uuid}/messages/{id}/regenerate` and of `POST …/continue`. It may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerAgain {
    /// Which model of the catalog is to answer. When absent, a new version is by the conversation's model, and an answer
    /// that goes on by the one that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A part of what a person sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
}

impl MessagePart {
    /// Joins the texts of all parts, with an empty line between two parts. The result is [`Message::content`].
    pub fn join_texts(parts: &[Self]) -> String {
        let texts: Vec<&str> = parts.iter().map(|Self::Text { text }| text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// Body of `POST /api/conversations/{uuid}/messages`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewMessage {
    /// What the user wrote, when it is nothing but text.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The same as a list of parts, in place of `content`.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MessagePart>,
    /// Chosen by the client, unique in the conversation: sending it twice makes one message.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 64, pattern = "^[!-~]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// A message of the user's that this is another version of. Both stay; what is shown from now on begins with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<MessageId>,
    /// Which model of the catalog answers this message alone; the conversation's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it is answered.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
}

/// Reads null as the default value: API clients write null for fields that they leave out.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// One page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// A conversation as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own on the wire")]
pub struct ConversationSummary {
    /// Its name on the wire and in addresses.
    pub uuid: Uuid,
    /// Never empty.
    pub title: String,
    /// Whether a turn runs at this moment.
    pub running: bool,
    /// Whether a turn waits for somebody's decision on its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_approval: bool,
    /// Whether the user wants it at hand.
    #[serde(default)]
    pub pinned: bool,
    /// Whether it is put away: lists leave it out, and a message takes it out again.
    #[serde(default)]
    pub archived: bool,
    /// The name of the model that answers in it, which may be gone from the catalog; absent for the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was made.
    #[serde(deserialize_with = "time::read")]
    pub created_at: DateTime<Utc>,
    /// When a message was last added.
    #[serde(deserialize_with = "time::read")]
    pub updated_at: DateTime<Utc>,
}

/// Query of `GET /api/conversations/{uuid}`: which messages of the branch that is shown; all of them by default. However
/// many that are, an answer ends with the last of them and goes back by whole exchanges to at most 16 MiB of text, of which
/// the last exchange alone may be more; [`Earlier`] says that there is more before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct Window {
    /// The newest, so many of them, at most 200; one more where a question would be cut off from its answer.
    #[cfg_attr(feature = "openapi", param(format = "uint32", maximum = 4_294_967_295.0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Of those alone that lead up to this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MessageId>,
    /// And back to this message, whatever their number; nothing when it is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<MessageId>,
}

/// What comes before the messages of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Earlier {
    /// How many messages.
    pub count: i64,
    /// What those cost together.
    pub usage: Usage,
}

/// A conversation with the messages of the branch that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// Type from which [`Conversation`] is read. Reading through `flatten` would buffer the messages, and a [`RawJson`] cannot be
/// read from serde's buffer.
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

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// What the model showed of its thinking while answering, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer is made by, in plan mode. Absent there, too, if no plan could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Mode of the answer. Absent for `react`.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
    /// Row ids of all versions of this message, itself among them, oldest first; empty when it is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<MessageId>,
    /// Tokens of the turn's finished steps; absent where the provider counts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Who provided the model of the turn's last finished step; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Which model of the catalog answers, by its name when the turn last began; for answers of before there was a catalog,
    /// the provider's name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its model was told of the conversation, where that was not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
    /// When it was whole, or its turn ended in another way; absent while it is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<DateTime<Utc>>,
}

impl Message {
    /// Returns `true` if the answer should follow a plan, but no plan could be made and the answer started without one.
    pub fn lacks_plan(&self) -> bool {
        let has_begun = !self.content.is_empty() || !self.tool_calls.is_empty();
        self.mode == AnswerMode::Plan && self.plan.is_none() && has_begun
    }
}

/// What an answer's model was told in place of the whole conversation before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Told {
    /// The first message that it was told whole.
    pub from: MessageId,
    /// What another call of a model had made of the messages before; absent where it was told nothing of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Answer to `POST /api/conversations/{uuid}/messages/{id}/reasoning-summary`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReasoningSummary {
    /// What was done for an answer and why, in at most three lines; none where no tool was called.
    pub lines: Vec<String>,
}

/// Which model answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelInfo {
    /// `anthropic`, `openai`, …, or `demo`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// An error answer, `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    use uuid::Uuid;

    use super::{Conversation, ConversationSummary, Earlier, Message, Told, UpdateConversation};
    use crate::{AnswerMode, MessageId, MessageStatus, RawJson, Role, ToolCall, ToolCallId, ToolCallStatus, Usage};

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
            reasoning: Vec::new(),
            plan: None,
            mode: AnswerMode::Plan,
            siblings: vec![MessageId(2), MessageId(3)],
            usage: Some(Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 0, cost_nanos: Some(81_000) }),
            provider: Some("demo".to_owned()),
            model: Some("demo".to_owned()),
            told: Some(Told { from: MessageId(2), summary: Some("They add.".to_owned()) }),
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
    fn no_model_is_told_apart_from_nothing_said_of_it() {
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
