//! Settings that admins change while the server runs: the models and tool servers that they add to those of the
//! settings file, with their encrypted secrets, and tests of them. Every server of a database applies a change within two seconds.

mod entries;
mod error;
mod kind;
mod model_source;
mod model_test;
mod models;
mod seal;
mod service;
mod store;
mod tool_server_source;
mod tool_servers;

pub use error::SettingsError;
pub use kind::EntryKind;
pub use seal::{SealError, Sealer};
pub use service::{ConfiguredEntries, RuntimeSettings};
