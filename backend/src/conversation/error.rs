//! Why a use case was refused or failed.

/// Why a use case was refused or failed. The messages are for whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no such conversation, or it is somebody else's.
    #[error("There is no such conversation. It may have been deleted.")]
    NotFound,
    /// The conversation has no such message.
    #[error("There is no such message in this conversation. Read the conversation again to see what is there.")]
    NoSuchMessage,
    /// A turn runs in this conversation.
    #[error("An answer is still being written in this conversation. Wait for it to end, or stop it.")]
    TurnRunning,
    /// The conversation's last message is no answer that was cut off.
    #[error("There is no answer here that was cut off, so there is nothing to continue. Send a message instead.")]
    NothingToContinue,
    /// The input breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// The server is stopping.
    #[error("The server is about to restart. Try again in a moment.")]
    ShuttingDown,
    /// The database failed.
    #[error("The database is out of reach. Try again in a moment.")]
    Storage(#[from] sqlx::Error),
    /// An event could not be written as JSON.
    #[error("The server made an event that it cannot send.")]
    Encode(#[from] serde_json::Error),
}
