//! Models and tool servers in the settings of the server, in the form that the dialog and the settings section share.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredToolServer, EntryProblem, ModelTest, SettingsOrigin, ToolServerTest,
};

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    Model,
    ToolServer,
}

impl EntryKind {
    /// Returns the last part of the address of its API. IDs of elements contain it, too.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::ToolServer => "tool-servers",
        }
    }

    /// Returns the ID of the button in the settings that adds an entry.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Model => "connect-model",
            Self::ToolServer => "add-tool-server",
        }
    }

    /// Returns the maximum number of characters of a name.
    pub(crate) const fn max_name_chars(self) -> usize {
        match self {
            Self::Model => 100,
            Self::ToolServer => 50,
        }
    }

    /// Returns the setting that is write-only.
    pub(super) const fn secret(self) -> &'static str {
        match self {
            Self::Model => "api_key",
            Self::ToolServer => "headers",
        }
    }

    /// Returns the settings that decide which server receives the secret.
    pub(super) const fn address(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["provider", "base_url"],
            Self::ToolServer => &["url"],
        }
    }

    /// Returns the code of the error about a setting that is not valid.
    pub(super) const fn invalid(self) -> &'static str {
        match self {
            Self::Model => "invalid-model",
            Self::ToolServer => "invalid-tool-server",
        }
    }
}

/// A model or tool server in the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetupEntry {
    pub(crate) kind: EntryKind,
    pub(crate) name: String,
    /// The settings as in the API, with the name and without the secret.
    pub(crate) settings: Map<String, Value>,
    pub(crate) origin: SettingsOrigin,
    pub(crate) has_secret: bool,
    pub(crate) version: Option<i64>,
    /// The reason why the entry cannot be used.
    pub(crate) problem: Option<String>,
    /// Code of that reason.
    pub(crate) problem_code: Option<EntryProblem>,
    /// `true` for the default model.
    pub(crate) is_default: bool,
    /// The state of a tool server: `connected`, `connecting` or `failed`.
    pub(crate) status: Option<String>,
    /// Number of available tools of a tool server.
    pub(crate) tools: usize,
}

impl From<ConfiguredModel> for SetupEntry {
    fn from(model: ConfiguredModel) -> Self {
        Self {
            kind: EntryKind::Model,
            settings: members(&model.fields),
            name: model.fields.name,
            origin: model.origin,
            has_secret: model.has_key,
            version: model.version,
            problem: model.problem,
            problem_code: model.problem_code,
            is_default: model.is_default,
            status: None,
            tools: 0,
        }
    }
}

impl From<ConfiguredToolServer> for SetupEntry {
    fn from(server: ConfiguredToolServer) -> Self {
        Self {
            kind: EntryKind::ToolServer,
            settings: members(&server.fields),
            name: server.fields.name,
            origin: server.origin,
            has_secret: server.has_headers,
            version: server.version,
            problem: server.problem,
            problem_code: server.problem_code,
            is_default: false,
            status: server.status,
            tools: server.tools,
        }
    }
}

impl SetupEntry {
    /// Returns a setting that is a text.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str)
    }
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TestResult {
    Model(ModelTest),
    ToolServer(ToolServerTest),
}

/// Returns settings as the members of a JSON object.
pub(super) fn members(fields: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(fields) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Returns the settings that these members stand for.
pub(super) fn fields<T: DeserializeOwned + Default>(members: Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(members)).unwrap_or_default()
}
