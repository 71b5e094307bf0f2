//! The HTTP layer, and the only module that uses HTTP: routes, request parsing, errors as problem+json, and server-sent
//! events. It also contains compression (`compression`), the API for OpenAI clients (`openai`), the MCP server (`mcp`),
//! and the API document (`openapi`).

mod accounts;
pub(crate) mod approvals;
mod assets;
mod base_url;
mod bearer;
mod body;
mod caller;
mod client_address;
mod compression;
mod connection;
mod connection_limits;
mod content_encoding;
mod conversations;
mod cookie;
mod error;
mod export;
mod feed;
mod files;
mod health;
mod hosts;
mod http10;
mod i18n;
mod identify;
mod large_body;
mod limits;
mod mcp;
mod messages;
mod methods;
mod metrics;
mod metrics_token;
mod models;
mod openai;
mod openapi;
mod other_versions;
mod page;
mod peer;
mod preferences;
mod public_url;
mod query;
mod request_id;
mod routes;
mod search;
mod security;
mod server;
mod shared_responses;
mod shares;
mod site;
mod sse;
mod state;
mod tool_calls;
mod tool_history;
mod tools;
mod trace;
mod usage;

pub use hosts::{HostName, HostNameError, Hosts};
pub use limits::Limits;
pub use metrics_token::MetricsToken;
pub use public_url::PublicUrl;
pub use server::serve;
pub use site::{Site, SiteFile};
pub use state::AppState;
pub(crate) use state::Services;

use state::State;
