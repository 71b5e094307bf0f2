//! What is asked of a model: the system texts, the history in parts and blocks, and the tools.

use std::sync::Arc;

use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The system texts: the program's own prompt first, then what else the model is told before the history. Blank
    /// ones are left out.
    pub system: Vec<String>,
    /// Oldest first, beginning with a user message. Every call in an assistant message has its result in the
    /// `ToolResults` that follows it.
    pub messages: Vec<ModelMessage>,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// How it is to write.
    pub sampling: Sampling,
    /// Lets the model search the web if the settings do, too. The provider charges for that, so only answers have it.
    pub may_search: bool,
}

/// How a model is to write an answer. What is absent follows the settings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sampling {
    /// How many tokens the answer may have, where that is less than the settings say.
    pub max_tokens: Option<u32>,
    /// From 0 to 2; to a provider with a narrower range its end is sent.
    pub temperature: Option<f64>,
    /// Texts before which the model stops.
    pub stop: Vec<String>,
}

impl Sampling {
    /// How many tokens the answer may have under this limit of the settings.
    pub(super) fn max_tokens_within(&self, limit: u32) -> u32 {
        self.max_tokens.map_or(limit, |asked| asked.min(limit))
    }
}

/// Whether the model may call tools, or must.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must answer in words. The tools stay in the request, since the history refers to them.
    None,
    /// It must call at least one.
    Required,
    /// It must call the one of this name.
    Named(String),
}

/// One entry of the history that a model is given.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelMessage {
    /// What a person sent, part by part.
    User(Vec<UserPart>),
    /// What the model said and asked for in one step, in its order.
    Assistant(Vec<AssistantBlock>),
    /// The results of all calls of the preceding assistant message, in the order asked for.
    ToolResults(Vec<ToolResult>),
}

impl ModelMessage {
    /// A person's words alone.
    pub fn user_text(words: impl Into<String>) -> Self {
        Self::User(vec![UserPart::Text(words.into())])
    }
}

/// A part of what a person sent.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserPart {
    /// Words.
    Text(String),
}

impl UserPart {
    /// The words of all parts, an empty line between two.
    pub fn join_texts(parts: &[Self]) -> String {
        let texts: Vec<&str> = parts.iter().map(|Self::Text(words)| words.as_str()).collect();
        texts.join("\n\n")
    }
}

/// A part of what a model said.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A tool call.
    ToolCall(ToolCallRequest),
    /// A block that must go back verbatim within the turn and that nobody else reads (a provider's thinking).
    Opaque {
        /// The provider whose block it is; others leave it out.
        provider: String,
        /// The provider's name of the model whose block it is; others leave it out, too. Absent in what was stored before
        /// there was a choice of models.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The block as JSON text.
        json: String,
    },
}

impl AssistantBlock {
    /// The call that it is, if it is one.
    pub fn tool_call(&self) -> Option<&ToolCallRequest> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text { .. } | Self::Opaque { .. } => None,
        }
    }
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolCallRequest {
    /// The provider's id of the call; minted by the client where the provider gives none. Unique within a step.
    pub id: String,
    /// The name of the tool that the model means; if it means none, the name as written, which may be empty.
    pub name: String,
    /// The arguments exactly as the model wrote them; meant to be a JSON object, but nothing has checked that.
    /// An absent or empty text from the provider is given as `{}`.
    pub input_text: String,
    /// The model that wrote the call and its id; absent if that is not known. It gets the id back unchanged. It is not
    /// stored with the call, but with the step.
    #[serde(skip)]
    pub written_by: Option<ModelInfo>,
}

/// What a tool gave back, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolResult {
    /// [`ToolCallRequest::id`] of the call.
    pub call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// JSON text: `{"success":true,"result":…}` or `{"success":false,"error":…,"error_type":…}`.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}
