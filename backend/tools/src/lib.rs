//! The trait `Tool`, the registry of tools, and the built-in tools (`builtin`). Tools do not depend on models, SQL, the
//! HTTP server or the web UI.

mod builtin;
mod compute;
mod decimal;
mod error;
#[cfg(test)]
mod example;
mod fair_semaphore;
mod limits;
pub mod notation;
mod registry;
mod secrets;
#[cfg(test)]
mod tests;
mod tool;
mod user_key;

pub use builtin::builtin;
pub use builtin::fetch_page::{AllowedHost, BadHost, FetchPage, FetchPageError};
pub use error::ToolError;
pub use fair_semaphore::{FairSemaphore, Slot};
pub use limits::MAX_INPUT_BYTES;
pub use registry::{AdmittedCall, AnyTool, RegistryError, ToolRegistry, is_tool_name, server_in};
pub use secrets::{REDACTED, RedactedArguments, Secrets, redact_arguments};
pub use tool::{Progress, ProgressSender, Risk, Tool, ToolImage, ToolOutput, ToolSpec};
pub use user_key::UserKey;
