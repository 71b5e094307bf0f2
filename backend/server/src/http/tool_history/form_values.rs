//! The fields of a form that a browser sent, and the query of the page that it shows afterwards.

use serde::Deserialize;

/// The query of a page with a form.
#[derive(Deserialize)]
pub(crate) struct FormQuery {
    /// `saved` confirms a change.
    #[serde(default)]
    state: String,
}

impl FormQuery {
    /// Returns `true` if the page confirms a change.
    pub(crate) fn is_saved(&self) -> bool {
        self.state == "saved"
    }
}

/// The version that a change is based on.
#[derive(Deserialize)]
pub(crate) struct VersionForm {
    pub(crate) version: i64,
}

/// The fields, in the order of the form. Check boxes and lists of a form can have several fields of the same name.
pub(crate) struct FormValues(Vec<(String, String)>);

impl FormValues {
    pub(crate) fn new(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// Returns the values of the fields with this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of the first field with this name.
    pub(crate) fn first<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Returns the version that the form showed. Returns -1, which matches no version, if the field is missing.
    pub(crate) fn version(&self) -> i64 {
        self.first("version").and_then(|version| version.parse().ok()).unwrap_or(-1)
    }
}
