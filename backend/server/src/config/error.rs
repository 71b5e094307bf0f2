//! What can be wrong with a setting, as a sentence that names it.

use std::{fmt::Display, path::PathBuf};
use tallybook_database::DbError;

/// A setting is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The command line, or a variable that stands for an option, does not parse. Also `--help` and `--version`.
    #[error(transparent)]
    Options(#[from] clap::Error),
    /// The database's address makes no sense.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A value makes no sense.
    #[error("{setting} {problem}")]
    Bad {
        /// The environment variable.
        setting: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// Something in the settings file makes no sense.
    #[error("{}, line {line}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what would be right.
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

pub(super) fn bad(setting: &'static str, problem: impl Display) -> ConfigError {
    ConfigError::Bad { setting, problem: problem.to_string() }
}
