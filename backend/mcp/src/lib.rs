//! Tools of servers that speak the Model Context Protocol (MCP), over Streamable HTTP or a program's standard streams, in
//! both eras of the protocol. [`ToolServers`] keeps them connected and gives the tools on offer as a registry.
//!
//! A server is not trusted: its lists, schemas, texts and results are bounded and mended here, and whatever it does ends
//! in a tool that is left out or a call that fails. This crate knows nothing of models, turns, SQL or the page.

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
mod variables;
mod way;

pub use endpoint::{SettingsError, check};
pub use listing::LeftOut;
pub use misfit::Misfit;
pub use pins::{ChangedDefinition, DefinitionHash, PinError, PinStore};
pub use server::Status;
pub use servers::{ServerReport, ToolServers};
pub use servers_file::{ServersFileError, read_servers_file};
pub use settings::{OAuthSettings, Pin, RiskSetting, ServerNameError, ToolServerSettings, ToolServersSettings};
pub use variables::UnsetVariable;
