//! Client for tool servers that speak the Model Context Protocol (MCP), over Streamable HTTP or over a program's standard
//! streams, in both eras of the protocol. [`ToolServers`] keeps the servers connected and returns the available tools as a
//! registry.
//!
//! A server is not trusted. Its lists, schemas, texts and results are limited in size and repaired here. Whatever a server does,
//! the worst result is a tool that is left out or a call that fails. This crate does not depend on models, turns, SQL or the
//! page.

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
mod misfit;
mod naming;
mod offering;
mod pins;
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
mod transport;
mod variables;

pub use endpoint::{SettingsError, check};
pub use listing::LeftOut;
pub use misfit::Misfit;
pub use pins::{ChangedDefinition, DefinitionHash, PinError, PinStore};
pub use server::Status;
pub use servers::{ServerReport, ToolServers};
pub use servers_file::{ServersFileError, read_servers_file};
pub use settings::{OAuthSettings, Pin, RiskSetting, ServerNameError, ToolServerSettings, ToolServersSettings};
pub use variables::UnsetVariable;
