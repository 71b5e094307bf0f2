//! Client for tool servers that speak the Model Context Protocol (MCP), over Streamable HTTP or over a program's
//! standard streams. It supports both eras of the protocol: the older one, whose connections begin with `initialize`,
//! and the newer one (version 2026-07-28), without it. [`ToolServers`] keeps the servers connected and returns the
//! available tools as a registry.
//!
//! Servers are not trusted. This crate limits the size of their lists, schemas, texts and results, and repairs them. A
//! misbehaving server can at worst cause a tool to be left out or a call to fail. This crate does not depend on models,
//! turns, SQL or the page.

mod body;
mod call_post;
mod client;
mod endpoint;
mod error;
mod exact;
mod group;
mod http;
mod limits;
mod lines;
mod listing;
mod naming;
mod pins;
mod probe;
mod result;
mod schema;
mod secrets;
mod server;
mod servers;
mod servers_file;
mod settings;
mod stdio;
mod text;
mod token;
mod tool;
mod tool_selection;
mod transport;
mod value_errors;
mod variables;

pub use endpoint::{SettingsError, check};
pub use listing::LeftOut;
pub use naming::is_of_server;
pub use pins::{AcceptAll, ChangedDefinition, DefinitionHash, PinError, PinStore};
pub use probe::{ProbedTool, ProbedTools, probe};
pub use server::Status;
pub use servers::{ServerReport, ToolServers};
pub use servers_file::{ServersFileError, read_servers_file};
pub use settings::{OAuthSettings, Pin, RiskSetting, ServerNameError, ToolServerSettings, ToolServersSettings};
pub use value_errors::ValueError;
pub use variables::UnsetVariable;
