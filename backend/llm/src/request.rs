//! A request to a model: the system texts, the history in messages and blocks, and the tools.

use std::{borrow::Cow, fmt, sync::Arc};

use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;
use uuid::Uuid;

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The system texts: first Tallybook's own prompt, then other context that precedes the history. Requests omit
    /// blank texts.
    pub system: Vec<String>,
    /// The history, oldest message first, starting with a user message. Every tool call in an assistant message has its
    /// result in the `ToolResults` that follows the message.
    pub messages: Vec<ModelMessage>,
    /// The available tools.
    pub tools: Arc<[ToolSpec]>,
    /// The rule for tool calls in the answer.
    pub tool_choice: ToolChoice,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// Lets the model search the web if the settings allow it, too. The provider charges for searches, so only requests
    /// for answers set this.
    pub may_search: bool,
}

/// Sampling parameters of an answer. Absent parameters follow the settings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sampling {
    /// Maximum number of tokens of the answer, if lower than the settings' limit.
    pub max_tokens: Option<u32>,
    /// From 0 to 2. A provider with a narrower range receives the nearest value that it accepts.
    pub temperature: Option<f64>,
    /// Texts at which the model stops writing.
    pub stop: Vec<String>,
}

impl Sampling {
    /// Returns the maximum number of tokens of the answer, given the settings' limit.
    pub(crate) fn max_tokens_within(&self, limit: u32) -> u32 {
        self.max_tokens.map_or(limit, |asked| asked.min(limit))
    }
}

/// The rule for tool calls in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must answer in text. The request still contains the tools, because the history refers to them.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call the tool with this name.
    Named(String),
}

/// A message of the history that is sent to a model.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelMessage {
    /// A user message, in parts.
    User(Vec<UserPart>),
    /// The model's text and tool calls of one step, in the order written.
    Assistant(Vec<AssistantBlock>),
    /// The results of all tool calls of the preceding assistant message, in the order of the calls.
    ToolResults(Vec<ToolResult>),
}

impl ModelMessage {
    /// Creates a user message with one text part.
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::User(vec![UserPart::Text(text.into())])
    }
}

/// Text that replaces a stored file whose content is not in the prompt.
pub(crate) const STORED_FILE_NOTE: &str = "[A file is attached here. You do not see its content.]";

/// A part of a user message.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserPart {
    /// Text.
    Text(String),
    /// An image.
    Image(ImagePart),
    /// A stored file, by its ID. The server replaces it by the content before it calls a model.
    StoredFile(Uuid),
}

impl UserPart {
    /// Joins the texts of all parts, separated by an empty line. An image counts as its name.
    pub fn join_texts(parts: &[Self]) -> String {
        let texts: Vec<Cow<'_, str>> = parts
            .iter()
            .map(|part| match part {
                Self::Text(content) => Cow::Borrowed(content.as_str()),
                Self::Image(image) => Cow::Owned(format!("[Image: {:?}]", image.name)),
                Self::StoredFile(_) => Cow::Borrowed(STORED_FILE_NOTE),
            })
            .collect();
        texts.join("\n\n")
    }
}

/// An image in a user message.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ImagePart {
    /// Name of the file.
    pub name: String,
    /// Media type: `image/png`, `image/jpeg` or `image/webp`.
    pub media_type: String,
    /// The encoded image, in base64. Clones share it.
    #[serde(with = "shared_text")]
    pub data: Arc<str>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl ImagePart {
    /// Returns the text that replaces the image for a model that reads no images.
    pub fn note(&self) -> String {
        format!("[The image {:?} is attached. You cannot see it, because you do not read images.]", self.name)
    }
}

impl fmt::Debug for ImagePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, media_type, data, width, height } = self;
        write!(f, "Image({name:?}, {media_type}, {width}x{height}, {} characters)", data.len())
    }
}

/// Serializes shared text as a string.
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}

/// A part of an assistant message.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    ToolCall(ToolCallRequest),
    /// A block that must be sent back verbatim within the turn (a provider's reasoning). Only the provider and model
    /// that wrote the block can read it.
    Opaque {
        /// The provider that wrote the block. Requests to other providers leave the block out.
        provider: String,
        /// The model that wrote the block, by the provider's name. Requests to other models leave the block out, too.
        /// Absent in data that was stored before models could be chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The block as JSON text.
        json: String,
    },
}

impl AssistantBlock {
    /// Returns the tool call, or `None` if this is another block.
    pub fn tool_call(&self) -> Option<&ToolCallRequest> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text { .. } | Self::Opaque { .. } => None,
        }
    }
}

/// A tool call that a model requests.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolCallRequest {
    /// The provider's ID of the call, or a generated ID if the provider sends none. Unique within a step.
    pub id: String,
    /// The name of the tool that the model means. If it matches no tool, the name as written, which may be empty.
    pub name: String,
    /// The arguments as the model wrote them, except that mistakes with an unambiguous meaning are repaired
    /// (`arguments`). They should be a JSON object, but may be any text. `{}` if the provider sends none or an empty
    /// text.
    pub input_text: String,
    /// The model that wrote the call and its ID; absent if not known. Requests to this model contain the ID unchanged
    /// if the provider accepts it (`call_ids`). This field is stored with the step, not with the call.
    #[serde(skip)]
    pub written_by: Option<ModelInfo>,
}

/// A tool's result, as it is sent to the model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolResult {
    /// [`ToolCallRequest::id`] of the call.
    pub call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// JSON text: `{"success":true,"result":…}` or `{"success":false,"error":…,"error_type":…}`.
    pub content: String,
    /// `true` if the call failed.
    pub is_error: bool,
    /// Images that the tool returned. They follow the results of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<UserPart>,
}
