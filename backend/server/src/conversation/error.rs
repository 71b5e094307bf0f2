//! Why a use case was refused or failed.

use crate::db::{Failure, classify};

/// Why a use case was refused or failed. The messages are for whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no such conversation, or it is somebody else's.
    #[error("There is no such conversation. It may have been deleted.")]
    NotFound,
    /// The conversation has no such message.
    #[error("There is no such message in this conversation. Read the conversation again to see what is there.")]
    NoSuchMessage,
    /// There is no such tool call, or it is in somebody else's conversation.
    #[error("There is no such tool call. Its conversation may have been deleted.")]
    NoSuchToolCall,
    /// The call gave no output.
    #[error("This tool call gave no output. Ask for the call itself to see how it ended.")]
    NoOutput,
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
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
    /// What was to be sent could not be written as JSON.
    #[error("The server made an answer that it cannot send.")]
    Encode(#[from] serde_json::Error),
}

fn storage_failed(error: &sqlx::Error) -> &'static str {
    match classify(error) {
        Failure::Passing => "The database is out of reach. Try again in a moment.",
        Failure::Full => {
            "Nothing can be stored, because the database is full or must not be written to. Ask whoever runs this server to \
             make room, or to let it write."
        }
        Failure::Lasting => {
            "The database refused what the server asked of it. Ask whoever runs this server to look into its log."
        }
    }
}
