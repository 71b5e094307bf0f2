//! The models, tool servers and settings of the settings file and the environment, beside which admins add and change
//! others.

use tallybook_conversations::models::ModelEntry;
use tallybook_llm::ModelSettings;
use tallybook_mcp::ToolServerSettings;
use tallybook_protocol::ServerSettings;

use crate::{kind::EntryKind, unusable::Unusable};

/// The models, tool servers and settings of the settings file and the environment.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The models, the default first.
    pub models: Vec<ModelEntry>,
    /// The settings that a model has if it does not set them itself. The provider is not used.
    pub model_defaults: ModelSettings,
    /// The tool servers with their names.
    pub tool_servers: Vec<(String, ToolServerSettings)>,
    /// The settings of the server.
    pub settings: ServerSettings,
    /// The names of the settings that the file or the environment sets. The others have their defaults.
    pub set_in_file: Vec<&'static str>,
}

impl Configured {
    /// Returns `true` if the settings file or the environment has an entry of this name.
    pub(crate) fn has(&self, kind: EntryKind, name: &str) -> bool {
        match kind {
            EntryKind::Model => self.models.iter().any(|entry| entry.name == name),
            EntryKind::ToolServer => self.tool_servers.iter().any(|(server, _)| server == name),
        }
    }

    /// Returns the reason why an added entry is not used; `None` if it is. `source` is the result of reading it.
    pub(crate) fn problem<S>(&self, kind: EntryKind, name: &str, source: &Result<S, Unusable>) -> Option<Unusable> {
        if self.has(kind, name) {
            return Some(Unusable::SetInFile(kind));
        }
        source.as_ref().err().cloned()
    }
}
