//! Accepted definitions of tools, with which changes are detected after a restart and on every replica.

use std::{collections::HashMap, error::Error, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};

/// Error of a [`PinStore`], for the log.
pub type PinError = Box<dyn Error + Send + Sync>;

/// SHA-256 of a tool's complete definition, as its server wrote it: name, title, description, schema and annotations.
/// Secrets of the settings are redacted before the hash is calculated.
pub type DefinitionHash = [u8; 32];

/// Store of accepted definitions. Implementations must return within a bounded time. The owner of the store accepts
/// definitions, and then calls [`ToolServers::accept`](super::ToolServers::accept).
pub trait PinStore: Send + Sync {
    /// Returns the accepted definitions of a server's tools, by the names that the server uses. If nothing is stored
    /// for the server yet, stores and accepts all of `seen`. A tool that first appears in a later listing is not in the
    /// result until an admin accepts it: otherwise a withheld tool could come back under another name.
    fn accepted(
        &self,
        server: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>>;
}

/// A store that keeps nothing and accepts each definition as it is.
pub struct AcceptAll;

impl PinStore for AcceptAll {
    fn accepted(
        &self,
        _: Arc<str>,
        seen: Vec<(String, DefinitionHash)>,
    ) -> BoxFuture<'_, Result<HashMap<String, DefinitionHash>, PinError>> {
        std::future::ready(Ok(seen.into_iter().collect())).boxed()
    }
}

/// A definition that is not the accepted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDefinition {
    /// Name that the server uses for the tool.
    pub tool: String,
    /// Hash of the current definition, in hex.
    pub hash: String,
    /// Current description of the tool.
    pub description: String,
}
