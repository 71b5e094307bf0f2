//! The fields of a form that a browser sent, and the query of the page that it shows afterwards. A form contains the
//! values that it showed, so that an admin's edits can be added to the changes of another admin.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use serde::{Deserialize, de::DeserializeOwned};

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

    /// Returns the values that the form showed, which it has as JSON. Returns `None` if it has none.
    pub(crate) fn shown<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.first("shown")?).ok()
    }

    /// Returns the version that the form showed. Returns -1, which matches no version, if the field is missing.
    pub(crate) fn version(&self) -> i64 {
        self.first("version").and_then(|version| version.parse().ok()).unwrap_or(-1)
    }
}

/// Adds an admin's edits of a list to its current rows, and returns the result. The edits are the differences between
/// `entered` and `shown`. Rows with the same key are the same row: if both changed it, the entered one stays.
pub(crate) fn merge_rows<T: Clone + Eq + Hash, K: Eq + Hash>(
    entered: Vec<T>,
    shown: &[T],
    current: &[T],
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let entered_keys: HashSet<K> = entered.iter().map(&key).collect();
    let shown_keys: HashSet<K> = shown.iter().map(&key).collect();
    let current_by_key: HashMap<K, &T> = current.iter().map(|row| (key(row), row)).collect();
    let shown: HashSet<&T> = shown.iter().collect();
    let merge =
        |row: T| if shown.contains(&row) { current_by_key.get(&key(&row)).copied().cloned() } else { Some(row) };
    let is_new = |row: &&T| !shown_keys.contains(&key(row)) && !entered_keys.contains(&key(row));
    entered.into_iter().filter_map(merge).chain(current.iter().filter(is_new).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::merge_rows;

    fn merge(entered: &str, shown: &str, current: &str) -> String {
        let rows = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let key = |row: &String| row.split('=').next().map(str::to_owned);
        merge_rows(rows(entered), &rows(shown), &rows(current), key).join(" ")
    }

    #[test]
    fn edits_are_added_to_the_current_rows() {
        for (entered, shown, current, merged) in [
            ("a b", "a b", "a b", "a b"),
            ("a c", "a b", "a b", "a c"),
            ("a b", "a b", "b d", "b d"),
            ("a b c", "a b", "b d", "b c d"),
            ("a c", "a", "a c", "a c"),
            ("", "a b", "a b d", "d"),
            ("a=1 b=1", "a=1 b=1", "a=2 b=1", "a=2 b=1"),
            ("a=3 b=1", "a=1 b=1", "a=2", "a=3"),
            ("a=3", "a=1", "", "a=3"),
            ("a=1 c=1", "a=1", "a=2 c=2", "a=2 c=1"),
        ] {
            assert_eq!(merge(entered, shown, current), merged, "{entered:?}, {shown:?}, {current:?}");
        }
    }
}
