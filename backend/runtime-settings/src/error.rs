//! Errors of the settings that change while the server runs.

use tallybook_database::{TransactionError, is_rolled_back};
use tallybook_llm::DiscoverError;

use crate::{kind::EntryKind, seal::SealError};

/// An error of a use case. The messages are written for admins.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// No entry has this name.
    #[error("No {0} is named {1:?}.")]
    NotFound(EntryKind, String),
    /// The entry is configured outside the page.
    #[error(
        "The {0} {1:?} is set in the settings file or the environment, so it can only be changed there. A {0} \
         that is added here needs another name."
    )]
    SetInFile(EntryKind, String),
    /// Another added entry has the name.
    #[error("A {0} named {1:?} exists already. Choose another name, or change the existing entry.")]
    NameTaken(EntryKind, String),
    /// A setting is not valid.
    #[error("{1}")]
    Invalid(EntryKind, String),
    /// The settings of a tool server name a program.
    #[error(
        "Tool servers that run as a program can only be set in the settings file, because the page must not start \
         programs. Enter the URL of a server."
    )]
    ProgramInFileOnly,
    /// The entry was changed after the caller read it.
    #[error("Another admin has changed this {0} in the meantime. Reload it, then repeat your change.")]
    VersionChanged(EntryKind),
    /// The limit on added entries is reached.
    #[error("The limit of {1} added entries is reached. Remove a {0} first.")]
    TooMany(EntryKind, usize),
    /// A secret cannot be encrypted.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The provider's models cannot be listed.
    #[error(transparent)]
    Discover(DiscoverError),
    /// The database failed.
    #[error("The settings could not be read or stored.")]
    Storage(#[from] sqlx::Error),
}

impl TransactionError for SettingsError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if is_rolled_back(error))
    }
}
