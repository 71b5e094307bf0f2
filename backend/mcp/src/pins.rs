//! What is remembered of tools' definitions, so that a change is noticed, after a restart and on every replica.

use std::{collections::HashMap, error::Error, sync::Arc};

use futures_util::future::BoxFuture;

/// Why what is remembered could not be asked; for the log.
pub type PinError = Box<dyn Error + Send + Sync>;

/// SHA-256 of a tool's whole definition, as its server wrote it: name, title, description, schema and annotations.
pub type DefinitionHash = [u8; 32];

/// Where accepted definitions are kept. Every answer comes within a bounded time. Accepting one is the business of whoever keeps
/// them, who then tells [`ToolServers::accept`](super::ToolServers::accept).
pub trait PinStore: Send + Sync {
    /// Returns the accepted definitions of a server's tools, by the names the server uses. If nothing is stored for the
    /// server yet, stores and accepts all of `seen`. A tool that first appears in a later listing is not in the answer
    /// until an admin accepts it: otherwise a withheld tool could come back under another name.
    fn accepted(
        &self,
        server: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>>;
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
