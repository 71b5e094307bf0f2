//! Why a use case was refused or failed.

use super::person_limits::Reached;
use crate::tool_pins::MAX_PINS;
use tallybook_database::{TransactionError, storage_failed};

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
    /// There is no such answer to go on from, or it is somebody else's.
    #[error("There is no such response. It may have been deleted, or was not stored.")]
    NoSuchResponse,
    /// No tool server lists such a tool.
    #[error("No tool server that is connected has such a tool. GET /api/tools lists those there are.")]
    NoSuchTool,
    /// The definition of a tool is another one than whoever asks has seen.
    #[error("The tool's definition has changed again. Look at it once more: GET /api/tools has it as it is now.")]
    DefinitionChanged,
    /// As many tools of the server are remembered as may be, without this one.
    #[error(
        "{} other tools of this server are remembered, which are as many as may be, so this one counts as changed whatever it \
         is. In the settings, give the server another name, and name the tools that you want of it in `include`.",
        MAX_PINS
    )]
    TooManyTools,
    /// The call gave no output.
    #[error("This tool call gave no output. Ask for the call itself to see how it ended.")]
    NoOutput,
    /// A turn runs in this conversation.
    #[error("An answer is still being written in this conversation. Wait for it to end, or stop it.")]
    TurnRunning,
    /// The conversation's turn waits for consent.
    #[error("An answer in this conversation waits for a decision on its tool calls. Decide on them, or stop it.")]
    AwaitingApproval,
    /// The call waits for no decision.
    #[error("Nothing is left to decide on this tool call: {0}.")]
    AlreadyDecided(String),
    /// The tool is another one than was asked for.
    #[error(
        "The tool {name:?} has changed since it was asked for, so look at it again before you decide. It says of itself \
         now: {description}"
    )]
    ToolChanged {
        /// The tool.
        name: String,
        /// What it is now.
        description: String,
    },
    /// There is no such standing approval, or it is somebody else's.
    #[error("There is no such approval. It may have been revoked.")]
    NoSuchApproval,
    /// The conversation's last message is no answer that was cut off.
    #[error("There is no answer here that was cut off, so there is nothing to continue. Send a message instead.")]
    NothingToContinue,
    /// The catalog has no model of the name that was asked for.
    #[error("There is no model named {name:?}. There are: {names}.")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The names that there are.
        names: String,
    },
    /// The conversation's model is no longer in the catalog.
    #[error("The model {name:?}, which this conversation used, is no longer offered. Choose another one: {names}.")]
    ModelGone {
        /// What the conversation's model was called.
        name: String,
        /// The names that there are.
        names: String,
    },
    /// As many models are being asked once as may be.
    #[error("Too many short questions are being answered. Try again in a moment.")]
    TooManyPlainCalls,
    /// The person has reached a limit of what one person may have answered.
    #[error(transparent)]
    LimitReached(#[from] Reached),
    /// As many exports are being written as may be.
    #[error("Other conversations are being exported. Try again when one of them has been downloaded.")]
    TooManyExports,
    /// There is no such link to a shared conversation, or it is somebody else's.
    #[error("There is no such link. It may have been taken back.")]
    NoSuchShare,
    /// A user has as many links as may be.
    #[error("You share as many conversations as you may. Take back a link that nobody needs any more.")]
    TooManyShares,
    /// The conversation is too long for one page.
    #[error("This conversation is too long to be shared as one page. Export it instead.")]
    TooLargeToShare,
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

impl TransactionError for ServiceError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}
