//! Errors in the settings. Each is a sentence that names the setting. Errors in the settings file also have the line,
//! the path of the key, and the expected value.

use std::{
    fmt::Display,
    ops::Range,
    path::{Path, PathBuf},
};

use strsim::jaro_winkler;
use tallybook_database::DbError;
use tallybook_mcp::ValueError;

use crate::config::position::{example_of, key_at, line_of};

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The database URL is not valid.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A value is not valid.
    #[error("{setting} {problem}")]
    Bad {
        /// The environment variable.
        setting: &'static str,
        /// Problem with the value and an example of a valid one, as a sentence that continues the name.
        problem: String,
    },
    /// A value in the settings file is not valid.
    #[error("{}, line {line}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what would be valid.
        problem: String,
    },
    /// The settings file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

pub(crate) fn bad(setting: &'static str, problem: impl Display) -> ConfigError {
    ConfigError::Bad { setting, problem: problem.to_string() }
}

/// Builds an error about the value at a span. `problem` is a sentence that continues the path of the key.
pub(crate) fn about(path: &Path, text: &str, span: &Range<usize>, problem: &str) -> ConfigError {
    let problem = key_at(text, span).map_or_else(|| problem.to_owned(), |key| format!("{key}: {problem}"));
    at(path, text, span, problem)
}

/// Builds an error about a file that cannot be parsed as settings.
pub(crate) fn unreadable(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let span = error.span().unwrap_or_default();
    let problem = match (ValueError::parse(error.message()), key_at(text, &span)) {
        // Text that is not TOML has no keys.
        (ValueError::Other(message), None) => {
            let advice =
                if message.contains("quoted") { " Write text in quotes, as in name = \"Sonnet\"." } else { "" };
            format!("the file is not valid TOML: {message}.{advice}")
        }
        (value_error, key) => sentence(&value_error, key.as_deref()),
    };
    at(path, text, &span, problem)
}

fn at(path: &Path, text: &str, span: &Range<usize>, problem: String) -> ConfigError {
    ConfigError::File { path: path.to_owned(), line: line_of(text, span), problem }
}

/// Turns a [`ValueError`] into a sentence that begins with its key.
fn sentence(value_error: &ValueError<'_>, key: Option<&str>) -> String {
    let within = |name: &str| key.map_or_else(|| name.to_owned(), |table| format!("{table}.{name}"));
    match value_error {
        ValueError::Missing { key: missing } => {
            let path = within(missing);
            format!("{path} {value_error}{}", shown(&path))
        }
        ValueError::UnknownKey { key: name, known } => {
            let path = key.filter(|path| is_last(path, name)).map_or_else(|| within(name), str::to_owned);
            format!("{path} {value_error}{}", advice(name, known.iter().copied()))
        }
        // If the path ends in the unknown word, the word is a key, so the expected words are keys, too.
        ValueError::UnknownWord { word, known } if key.is_some_and(|path| is_last(path, word)) => {
            let value_error = ValueError::UnknownKey { key: word, known: known.clone() };
            sentence(&value_error, key)
        }
        ValueError::WrongType { expected: "a sequence", found: "a table" } if key == Some("models") => {
            "models must be a list. Write [[models]], with two brackets, above each model.".to_owned()
        }
        _ => {
            let path = key.unwrap_or("the file");
            format!("{path} {value_error}{}", shown(path))
        }
    }
}

fn is_last(path: &str, name: &str) -> bool {
    path == name || path.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
}

/// Returns a sentence with an example of a key; empty if the example file does not have the key.
fn shown(path: &str) -> String {
    example_of(path).map(|example| format!(" For example: {example}")).unwrap_or_default()
}

/// Similarity above which an unknown name counts as a misspelling of a known one. Equal names have 1.
const ALIKE: f64 = 0.85;

/// Returns a sentence that suggests the most similar known name; empty if none is similar.
pub(crate) fn advice<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let rated = known.into_iter().map(|known| (jaro_winkler(known, name), known));
    let nearest = rated.filter(|(likeness, _)| *likeness > ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, nearest)| format!(" Did you mean {nearest}?")).unwrap_or_default()
}
