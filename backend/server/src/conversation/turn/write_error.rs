//! Why something of a turn was not stored, and what that means for the turn.

use tallybook_agent::RecordError;
use tallybook_database::{FailureKind, TransactionError, classify};

/// Why something of a turn was not stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] sqlx::Error),
    /// A call that waits for consent was to be asked for anew, decided on or begun, and its row says that it does not wait.
    #[error("the tool call does not wait as it should")]
    NotWaiting,
}

impl TransactionError for WriteError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}

/// What came of a write: `None` stands for a turn that is no longer this process's own.
pub(super) fn stored<T>(outcome: Result<Option<T>, impl Into<WriteError>>) -> Result<T, RecordError> {
    outcome.map_err(record_error)?.ok_or(RecordError::LostLease)
}

/// What a failure to store something means for the turn.
pub(super) fn record_error(error: impl Into<WriteError>) -> RecordError {
    match error.into() {
        WriteError::Storage(error) => match classify(&error) {
            FailureKind::Transient => RecordError::Unavailable(error.into()),
            FailureKind::StorageFull => RecordError::Full(error.into()),
            FailureKind::Permanent => RecordError::Rejected(error.into()),
        },
        error @ WriteError::NotWaiting => RecordError::Rejected(error.into()),
    }
}
