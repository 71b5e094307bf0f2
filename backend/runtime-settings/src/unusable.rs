//! The reasons why an added model or tool server cannot be used.

use tallybook_protocol::EntryProblem;

use crate::{kind::EntryKind, seal::SealError};

/// The reason why an added entry cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("The settings file or the environment has a {0} of the same name, which is used instead.")]
    SetInFile(EntryKind),
    /// Its secret cannot be decrypted. The text is that of the [`SealError`].
    #[error("{0}")]
    OtherKey(String),
    #[error("{0}")]
    Invalid(String),
}

impl Unusable {
    /// Returns the code by which a page finds its text in the user's language.
    pub(crate) fn code(&self) -> EntryProblem {
        match self {
            Self::SetInFile(_) => EntryProblem::SetInFile,
            Self::OtherKey(_) => EntryProblem::OtherKey,
            Self::Invalid(_) => EntryProblem::Other,
        }
    }
}

impl From<SealError> for Unusable {
    fn from(error: SealError) -> Self {
        match error {
            SealError::OtherKey => Self::OtherKey(error.to_string()),
            SealError::NoKey | SealError::KeyFile { .. } | SealError::Failed => Self::Invalid(error.to_string()),
        }
    }
}
