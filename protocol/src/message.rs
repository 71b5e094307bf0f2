//! Messages of a conversation, as the REST API sends and receives them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::{Feedback, MessageFile, MessageId, MessageStatus, Plan, Reasoning, Role, ToolCall, Usage};

/// A part of a user's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image that was uploaded with `POST /api/files`.
    Image {
        /// ID of the file.
        file_id: Uuid,
    },
    /// A document or text that was uploaded with `POST /api/files`.
    File {
        /// ID of the file.
        file_id: Uuid,
    },
}

impl MessagePart {
    /// Joins the texts of all parts, with an empty line between two parts. The result is [`Message::content`].
    pub fn join_texts(parts: &[Self]) -> String {
        let texts = parts.iter().filter_map(|part| match part {
            Self::Text { text } => Some(text.as_str()),
            Self::Image { .. } | Self::File { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the ID of the part's file; `None` for text.
    pub fn file_id(&self) -> Option<Uuid> {
        match self {
            Self::Text { .. } => None,
            Self::Image { file_id } | Self::File { file_id } => Some(*file_id),
        }
    }
}

/// Mode of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerMode {
    /// The model answers, and calls tools as needed.
    #[default]
    React,
    /// The model makes a plan first, and then works on it step by step.
    Plan,
}

impl AnswerMode {
    /// Returns `true` for the mode that is used if none is given.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Body of `POST /api/conversations/{uuid}/messages`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewMessage {
    /// The user's text. Use `content` or `parts`, not both.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The user's text and files as a list of parts, instead of `content`. At most 10 parts are files. A message can
    /// consist of files alone.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MessagePart>,
    /// An ID that the client chooses, unique in the conversation. A message that is sent twice with the same ID is
    /// stored once.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 64, pattern = "^[!-~]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// Row id of a message of the user that this message is a new version of. Both versions are kept. The conversation
    /// then shows the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<MessageId>,
    /// Name of the model that answers only this message. If absent, the conversation's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Mode of the answer.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
}

/// Reads null as the default value: API clients write null for fields that they leave out.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// Row id of the message.
    pub id: MessageId,
    /// Author of the message.
    pub role: Role,
    /// Number of the turn's last lease. It grows each time the turn resumes; 0 for user messages.
    #[serde(default)]
    pub epoch: i32,
    /// Text of the message. The assistant's text is Markdown.
    pub content: String,
    /// The files of a user's message, in the order of its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
    /// Status of the message.
    pub status: MessageStatus,
    /// A message for the user that describes the problem; only with `failed` or `interrupted`.
    pub error: Option<String>,
    /// Stable name of the cause of `error`, as in the `error` event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Reason why the model stopped, as in `message_end`; null if it did not stop by itself.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// The tool calls of the answer, in the order in which the model requested them.
    pub tool_calls: Vec<ToolCall>,
    /// The model's reasoning, one item per step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The plan that the answer follows, in plan mode. Also absent in plan mode if no plan could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Mode of the answer. Absent for `react`.
    #[serde(default, skip_serializing_if = "AnswerMode::is_default")]
    pub mode: AnswerMode,
    /// Row ids of all versions of this message, including this one, oldest first. Empty if there is only one version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<MessageId>,
    /// Tokens of the turn's finished steps; absent if the provider reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Provider of the model that wrote the turn's last finished step; absent before the first step has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Name of the model that answers, as of the turn's last start. For answers of versions without a model list, the
    /// provider's name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The part of the conversation that the model received; absent if it received all of it.
    #[serde(rename = "told", default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextTruncation>,
    /// The user's feedback on the answer; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Time at which the message was stored.
    pub created_at: DateTime<Utc>,
    /// Time at which the message was complete or its turn ended otherwise; absent while it is being written.
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

/// The part of the conversation that an answer's model received, if it did not receive all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Told))]
pub struct ContextTruncation {
    /// Row id of the first message that the model received in full.
    pub from: MessageId,
    /// Summary that the model received in place of the earlier messages; absent if it received none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Response of `POST /api/conversations/{uuid}/messages/{id}/reasoning-summary`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReasoningSummary {
    /// At most three lines on the actions for an answer and their reasons. Empty if the answer called no tool.
    pub lines: Vec<String>,
}
