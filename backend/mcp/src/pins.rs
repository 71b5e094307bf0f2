//! What is remembered of tools' definitions, so that a change is noticed, after a restart and on every replica.

use std::{collections::HashMap, error::Error, sync::Arc};

use futures_util::future::BoxFuture;

/// Why what is remembered could not be asked or changed.
pub type PinError = Box<dyn Error + Send + Sync>;

/// SHA-256 of a tool's whole definition, as its server wrote it: name, title, description, schema and annotations.
pub type DefinitionHash = [u8; 32];

/// Where accepted definitions are kept. Every answer comes within a bounded time.
pub trait PinStore: Send + Sync {
    /// The definitions that are accepted of a server's tools, by what the server calls them. A tool that was never seen
    /// before is accepted as it is `seen`, and remembered so; one for which there is no room is not in the answer.
    fn accepted(
        &self,
        server: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>>;

    /// From now on this definition of a tool is the accepted one.
    fn accept(&self, server: Arc<str>, tool: String, hash: DefinitionHash) -> BoxFuture<'_, Result<(), PinError>>;
}

/// A definition that is not the accepted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDefinition {
    /// What the server calls the tool.
    pub tool: String,
    /// The hash of its definition now, in hex.
    pub hash: String,
    /// What it says now that it does.
    pub description: String,
}

/// A definition could not be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// No server of this name, or no tool that it lists and the settings take.
    #[error("there is no such tool")]
    Unknown,
    /// The definition is another one than the one that was looked at.
    #[error("the tool's definition has changed again")]
    Changed,
    /// It could not be remembered.
    #[error("it could not be stored")]
    Store(#[source] PinError),
}
