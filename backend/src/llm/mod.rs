//! The provider port: what is asked of a model and what streams back, and one file per provider. The only room that
//! knows provider JSON. It does not know tools' code, SQL, or the page.

mod anthropic;
mod demo;
mod endpoint;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod history;
mod http;
mod http_error;
mod openai;
mod prompted;
mod reader;
mod retry;
mod settings;
#[cfg(test)]
mod tests;
mod tool_mode;

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tallybook_protocol::{ModelInfo, Usage};

use crate::tools::ToolSpec;

pub use demo::DemoModel;
pub use retry::RetryPolicy;
pub use settings::{ApiKey, ConnectError, ModelSettings, ProviderKind, UnknownProvider, connect};
pub use tool_mode::{ToolMode, UnknownToolMode};

/// A model behind some provider's API.
pub trait ModelClient: Send + Sync + 'static {
    /// Which provider and model this is, for people and for the `model_calls` table.
    fn info(&self) -> &ModelInfo;

    /// Asks the model and streams what it writes. A stream that ends well ends in exactly one [`ModelEvent::Ended`];
    /// one that ends in an error, or without `Ended`, is not a finished answer. Dropping it closes the connection.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// What [`ModelClient::stream`] gives.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// Oldest first, beginning with a user message. Every call in an assistant message has its result in the
    /// `ToolResults` that follows it.
    pub messages: Vec<ModelMessage>,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// It decides.
    Auto,
    /// It must answer in words. The tools stay in the request, since the history refers to them.
    None,
}

/// One entry of the history that a model is given.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    /// A person's words.
    User(String),
    /// What the model said and asked for in one step, in its order.
    Assistant(Vec<AssistantBlock>),
    /// The results of all calls of the preceding assistant message, in the order asked for.
    ToolResults(Vec<ToolResult>),
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
    /// The tool's name as the model wrote it; in the prompt-based mode, as it was understood.
    pub name: String,
    /// The arguments exactly as the model wrote them; meant to be a JSON object, but nothing has checked that.
    /// An absent or empty text from the provider is given as `{}`.
    pub input_text: String,
}

/// What a tool gave back, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// What streams back from a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The provider is being asked for the nth time (from 2), since the attempt before failed. Blocks given so far are
    /// void; text and calls there are none, for after those nothing is asked again.
    Attempt(u32),
    /// More text of the answer. Never empty.
    TextDelta(String),
    /// A complete tool call. Calls that the stream left unfinished (end of tokens, end of file) are never given.
    ToolCall(ToolCallRequest),
    /// A block to be replayed verbatim; see [`AssistantBlock::Opaque`].
    Opaque(String),
    /// The answer is finished. Nothing follows.
    Ended {
        /// Why the model stopped.
        stop_reason: StopReason,
        /// Tokens of this request.
        usage: Usage,
    },
}

/// Why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had no more to say.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// It reached the limit of tokens.
    MaxTokens,
    /// It declined to answer.
    Refusal,
    /// The provider paused a long turn; asking again with the same history continues it.
    Pause,
    /// Something else, in the provider's word.
    Other(String),
}

impl StopReason {
    /// The word stored in `model_calls` and sent in `message_end`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Pause => "pause_turn",
            Self::Other(word) => word,
        }
    }
}

/// Why a model could not be asked, or its answer not be read. Each message says what to do next and is fit for the
/// page: no keys, no raw bodies.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The key was refused (401, 403).
    #[error("The model provider refused the API key ({status}). Check LLM_API_KEY and restart the server.")]
    Auth {
        /// The HTTP status.
        status: u16,
    },
    /// The provider does not know the model or the address (404).
    #[error(
        "The model provider knows no model {model:?} at this address ({detail}). Check LLM_MODEL and LLM_BASE_URL."
    )]
    NotFound {
        /// The model asked for.
        model: String,
        /// The status, and the provider's own message, shortened.
        detail: String,
    },
    /// The model, or the server as it was started, takes no tools. The question may be asked again without.
    #[error("The model {model:?} cannot call tools: {detail}. Choose another LLM_MODEL.")]
    ToolsUnsupported {
        /// The model asked for.
        model: String,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The provider does not accept the request (400, 413, 422).
    #[error("The model provider refused the request ({status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The provider is overloaded or limits the rate (408, 409, 429, 5xx, 529, `overloaded_error`).
    #[error("The model provider is busy ({detail}). Try again in a moment.")]
    Busy {
        /// The status or the provider's word for it.
        detail: String,
    },
    /// No connection.
    #[error("The model provider cannot be reached at {address}. Check LLM_BASE_URL and the network.")]
    Unreachable {
        /// Scheme, host and port; no path, no user info.
        address: String,
        /// The cause, for the log.
        #[source]
        source: reqwest::Error,
    },
    /// Nothing came for too long.
    #[error("The model provider sent nothing for {seconds} seconds. Try again, or raise LLM_TIMEOUT_SECS.")]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// The stream broke off or made no sense.
    #[error("The model's answer broke off: {detail}. Try again.")]
    BadStream {
        /// What was wrong with it.
        detail: String,
    },
}

impl ModelError {
    /// The stable name of the cause, sent as `code` in the `error` event and stored in `model_calls.error`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "model_auth",
            Self::NotFound { .. } => "model_not_found",
            Self::ToolsUnsupported { .. } => "model_without_tools",
            Self::Refused { .. } => "model_refused_request",
            Self::Busy { .. } => "model_busy",
            Self::Unreachable { .. } => "model_unreachable",
            Self::Timeout { .. } => "model_timeout",
            Self::BadStream { .. } => "model_bad_stream",
        }
    }
}
