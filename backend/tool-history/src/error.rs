//! Errors of the tool history.

use tallybook_database::storage_failed;

use super::{limits::MAX_REASON_CHARS, no_rerun::NoRerun};

/// An error of the tool history. The messages are shown to the user who made the request.
#[derive(Debug, thiserror::Error)]
pub enum ToolHistoryError {
    /// The data belongs to another user, and the caller has given no valid reason for opening it.
    #[error("This belongs to another user. Enter a reason to open it.")]
    NeedsReason {
        /// Name of the owner; `None` for the data of all users.
        owner: Option<String>,
    },
    /// The reason is empty or too long.
    #[error("Enter a reason of at most {MAX_REASON_CHARS} characters.")]
    NoReason,
    /// No user has this name.
    #[error("No user is named “{0}”.")]
    NoSuchUser(String),
    /// The conversation does not exist.
    #[error("This conversation does not exist. It may have been purged.")]
    NoSuchConversation,
    /// The call does not exist.
    #[error("This tool call does not exist. It may have been purged.")]
    NoSuchCall,
    /// The call cannot be re-run.
    #[error("{0}")]
    NoRerun(NoRerun),
    /// Too many searches run at the same time.
    #[error("Too many searches of the tool history are running. Try again in a few seconds.")]
    Busy,
    /// Too many re-runs run at the same time.
    #[error("Too many re-runs are in progress. Try again in a few seconds.")]
    TooManyReruns,
    /// The cursor was not issued by the server.
    #[error("The cursor is not valid. Use next_cursor from the previous page.")]
    BadCursor,
    /// A call could not be serialized for an export.
    #[error("The server could not generate this file.")]
    Write(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
}
