//! Kinds of catalog entries, with their names, secret fields and address fields.

use std::fmt;

/// Maximum length of the URL of an entry, in characters.
pub(crate) const MAX_URL_CHARS: usize = 2000;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A model.
    Model,
    /// A tool server.
    ToolServer,
}

/// Settings that were read and checked.
pub(crate) struct Checked {
    pub(crate) name: String,
    /// The settings as JSON, without secrets.
    pub(crate) settings: String,
}

impl EntryKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 2] = [Self::Model, Self::ToolServer];

    /// Returns the name in the database.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::ToolServer => "tool_server",
        }
    }

    /// Returns the setting that is secret.
    pub(crate) fn secret(self) -> &'static str {
        match self {
            Self::Model => "api_key",
            Self::ToolServer => "headers",
        }
    }

    /// Returns the settings that decide which server receives the secret.
    pub(crate) fn address(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["provider", "base_url"],
            Self::ToolServer => &["url"],
        }
    }

    /// Returns the context in which the secret of an entry is encrypted.
    pub(crate) fn seal_context(self, name: &str) -> String {
        format!("{} {name} {}", self.as_str(), self.secret())
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::ToolServer => "tool server",
        })
    }
}
