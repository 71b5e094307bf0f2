//! Why something of the book was refused or failed.

use super::{limits::MAX_REASON_CHARS, no_rerun::NoRerun};
use tallybook_database::storage_failed;

/// Why something of the book was refused or failed. The messages are for whoever asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookError {
    /// What is asked for is somebody else's, and nobody has said why it is looked at.
    #[error("This is somebody else's. Say first why you look at it.")]
    NeedsReason {
        /// Whose it is; `None` when it is everybody's.
        owner: Option<String>,
    },
    /// No reason, or one that is too long.
    #[error("Say in at most {MAX_REASON_CHARS} characters why you look.")]
    NoReason,
    /// Nobody has this name.
    #[error("Nobody here is called “{0}”.")]
    NoSuchUser(String),
    /// There is no such conversation.
    #[error("There is no such conversation. It may have been purged.")]
    NoSuchConversation,
    /// There is no such call.
    #[error("There is no such tool call. It may have been purged.")]
    NoSuchCall,
    /// The call cannot be run again.
    #[error("{0}")]
    NoRerun(NoRerun),
    /// As many pages are being looked for as may be.
    #[error("The tool history is being searched by too many at the moment. Try again in a few seconds.")]
    Busy,
    /// As many calls are being run again as may be.
    #[error("Too many calls are being run again at the moment. Try again in a few seconds.")]
    TooManyReruns,
    /// The cursor is none that was given.
    #[error("The cursor is not one of ours.")]
    BadCursor,
    /// A call could not be written into a file.
    #[error("The server cannot write this file.")]
    Write(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
}
