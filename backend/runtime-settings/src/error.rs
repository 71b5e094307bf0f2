//! Errors of the settings that change while the server runs.

use tallybook_database::{TransactionError, is_rolled_back};
use tallybook_llm::DiscoverError;

use crate::seal::SealError;

/// An error of a use case. The messages are written for admins.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// No model has this name.
    #[error("No model is named {0:?}. GET /api/admin/models lists the models.")]
    NoSuchModel(String),
    /// The model is configured outside the page.
    #[error(
        "The model {0:?} is set in the settings file or the environment, so it can only be changed there. To add a model \
         here, use another name."
    )]
    SetInFile(String),
    /// Another added model has the name.
    #[error("A model named {0:?} exists already. Choose another name, or change that model.")]
    NameTaken(String),
    /// A setting is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The entry was changed after the caller read it.
    #[error("Another admin has changed this model in the meantime. Read it again, then repeat your change.")]
    VersionChanged,
    /// The limit on added models is reached.
    #[error("There are {0} added models, which is the limit. Remove one first.")]
    TooMany(usize),
    /// A key cannot be encrypted or decrypted.
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
