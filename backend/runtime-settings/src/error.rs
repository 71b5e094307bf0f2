//! Errors of the settings that change while the server runs.

use tallybook_database::{TransactionError, is_rolled_back};
use tallybook_llm::DiscoverError;
use tallybook_protocol::first_chars;

use crate::{
    kind::EntryKind,
    problems::{BudgetProblem, GroupProblem, SettingProblem},
    seal::SealError,
};

/// Maximum length of a text of the request in an error message, in characters.
const MAX_SHOWN_CHARS: usize = 100;

/// Returns the beginning of a text that a client sent, for an error message.
pub(crate) fn shown(text: &str) -> &str {
    first_chars(text, MAX_SHOWN_CHARS)
}

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
    /// The setting is set outside the page.
    #[error("{0} is set in the settings file or the environment, so it can only be changed there.")]
    SettingInFile(String),
    /// A setting of the server is not valid.
    #[error(transparent)]
    InvalidSetting(SettingProblem),
    /// A budget is not valid.
    #[error(transparent)]
    InvalidBudget(BudgetProblem),
    /// No group has this ID.
    #[error("This group does not exist. It may have been deleted.")]
    NoSuchGroup,
    /// A group is not valid.
    #[error(transparent)]
    InvalidGroup(GroupProblem),
    /// Another group has the name.
    #[error("A group of this name exists already. Choose another name, or change the existing group.")]
    GroupNameTaken,
    /// The identity provider sets the members of the group.
    #[error("The identity provider adds the members of this group at each sign-in. Here you can only remove them.")]
    MembersFromProvider,
    /// The group was changed after the caller read it.
    #[error("Another admin has changed this group in the meantime. Reload it, then repeat your change.")]
    GroupChanged,
    /// The settings of the server were changed after the caller read them.
    #[error("Another admin has changed the settings in the meantime. Reload them, then repeat your change.")]
    SettingsChanged,
    /// The history has no such change.
    #[error("The history of the settings has no such change. It keeps the latest 1,000.")]
    NoSuchChange,
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
    /// Too many tests are running.
    #[error("Other tests of models and tool servers are running. Try again when they have ended, within two minutes.")]
    Busy,
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
