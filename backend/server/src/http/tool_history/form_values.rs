//! The fields of a form that a browser sent.

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
