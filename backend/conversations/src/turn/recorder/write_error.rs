//! The error of a failed write to a turn, and its conversion to the agent's error.

use tallybook_agent::RecordError;
use tallybook_database::{FailureKind, TransactionError, classify};

/// Reason why a write to a turn failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] sqlx::Error),
    /// A call was to be requested again, decided on or started, but according to its row it does not wait as expected.
    #[error("the tool call does not wait as it should")]
    NotWaiting,
}

impl TransactionError for WriteError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}

/// Converts the result of a write. `None` means that the turn no longer belongs to this process, and becomes
/// [`RecordError::LostLease`].
pub(crate) fn stored<T>(outcome: Result<Option<T>, impl Into<WriteError>>) -> Result<T, RecordError> {
    outcome.map_err(record_error)?.ok_or(RecordError::LostLease)
}

/// Converts the reason of a failed write to the error that ends the run.
pub(crate) fn record_error(error: impl Into<WriteError>) -> RecordError {
    match error.into() {
        WriteError::Storage(error) => match classify(&error) {
            FailureKind::Transient => RecordError::Unavailable(error.into()),
            FailureKind::StorageFull => RecordError::Full(error.into()),
            FailureKind::Permanent => RecordError::Rejected(error.into()),
        },
        error @ WriteError::NotWaiting => RecordError::Rejected(error.into()),
    }
}
