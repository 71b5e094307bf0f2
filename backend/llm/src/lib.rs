//! Clients for model providers: the interface that all providers share, and one module per wire format. This is the
//! only crate that knows the providers' JSON. It does not know the tools' code, SQL, or the web UI.

mod anthropic;
mod api_key;
mod call_ids;
mod connect;
mod context_error;
mod discover;
mod effort;
mod endpoint;
mod error;
mod event;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod history;
mod http;
mod http_error;
mod limits;
mod model;
mod names;
mod object;
mod openai;
mod pending_call;
mod priced;
mod prompted;
mod property_names;
mod provider;
mod quirks;
mod reader;
mod reason;
mod request;
mod retry;
mod setting_names;
mod settings;
mod stream_error;
mod surrogates;
#[cfg(any(test, fuzzing))]
mod testing;
#[cfg(test)]
mod tests;
pub mod tokens;
mod tool_mode;
mod wire_format;

pub use api_key::ApiKey;
pub use connect::connect;
pub use discover::{DiscoverError, discover};
pub use effort::{ReasoningEffort, UnknownEffort};
pub use error::ModelError;
pub use event::{ModelEvent, RetryWait, StopReason};
pub use limits::MAX_BLOCKS;
pub use model::{ModelClient, ModelStream};
pub use priced::priced;
pub use provider::{ProviderKind, UnknownProvider};
pub use quirks::{Quirk, QuirkSet};
pub use request::{
    AssistantBlock, ImagePart, ModelMessage, ModelRequest, Sampling, ToolCallRequest, ToolChoice, ToolResult, UserPart,
};
pub use retry::RetryPolicy;
pub use setting_names::SettingNames;
pub use settings::{ConnectError, ModelSettings};
pub use tool_mode::{ToolMode, UnknownToolMode};
