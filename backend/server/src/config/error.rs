//! Errors in the settings. Each is a sentence that names the setting.

use std::{fmt::Display, path::PathBuf};

use tallybook_database::DbError;

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The command line, or an environment variable of an option, does not parse. Also `--help` and `--version`.
    #[error(transparent)]
    Options(#[from] clap::Error),
    /// The database URL is not valid.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A value is not valid.
    #[error("{setting} {problem}")]
    Bad {
        /// The environment variable.
        setting: &'static str,
        /// Sentence that says what is wrong with it, and what would be valid.
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
