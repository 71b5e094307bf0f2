//! Errors of the use cases of conversations.

use tallybook_database::{TransactionError, storage_failed};

use crate::tool_pins::MAX_PINS;
use crate::user_limits::Reached;

/// An error of a use case. The messages are written for users and API clients.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The conversation does not exist, or belongs to another user.
    #[error("There is no such conversation. It may have been deleted.")]
    NotFound,
    /// The conversation has no such message.
    #[error("There is no such message in this conversation. Reload the conversation to see its messages.")]
    NoSuchMessage,
    /// The tool call does not exist, or is in another user's conversation.
    #[error("There is no such tool call. Its conversation may have been deleted.")]
    NoSuchToolCall,
    /// The response to continue from does not exist, or belongs to another user or API key.
    #[error("There is no such response. It may have been deleted, or was not stored.")]
    NoSuchResponse,
    /// No connected tool server has this tool.
    #[error("No connected tool server has this tool. GET /api/tools lists the available tools.")]
    NoSuchTool,
    /// The tool's definition is not the one that the caller has seen.
    #[error("The tool's definition has changed again. Get the current one from GET /api/tools and check it.")]
    DefinitionChanged,
    /// The tool is new, and its server already has `MAX_PINS` tools.
    #[error(
        "The server already has {} known tools, which is the limit, so this tool cannot be accepted. In the settings, rename \
         the server and list the tools you need in `include`.",
        MAX_PINS
    )]
    TooManyTools,
    /// The call returned no output.
    #[error("This tool call returned no output. Get the call itself to see how it ended.")]
    NoOutput,
    /// A turn runs in this conversation.
    #[error("An answer is already running in this conversation. Wait for it to end, or stop it.")]
    TurnRunning,
    /// The conversation's turn waits for approval.
    #[error(
        "An answer in this conversation needs approval for its tool calls. Allow or deny them, or stop the answer."
    )]
    AwaitingApproval,
    /// The call does not wait for a decision.
    #[error("This tool call does not need approval: {0}.")]
    AlreadyDecided(String),
    /// The tool's definition has changed since approval was requested.
    #[error(
        "The tool {name:?} has changed since approval was requested. Check it again before you decide. Its description is now: \
         {description}"
    )]
    ToolChanged {
        /// Name of the tool.
        name: String,
        /// Current description of the tool.
        description: String,
    },
    /// The saved approval does not exist, or belongs to another user.
    #[error("There is no such approval. It may have been revoked.")]
    NoSuchApproval,
    /// The conversation's last message is not an answer that can be resumed.
    #[error("The last answer here was not interrupted, so it cannot be continued. Send a message instead.")]
    NothingToResume,
    /// The catalog has no model with the requested name.
    #[error("No model is named {name:?}. The models are: {names}.")]
    UnknownModel {
        /// The requested name.
        name: String,
        /// Names of the available models.
        names: String,
    },
    /// The user may use no model.
    #[error("No model is available to you. Ask an admin to grant one to a group of yours.")]
    NoModel,
    /// The conversation's model is no longer in the catalog, or the user may no longer use it.
    #[error("The model {name:?}, which this conversation used, is no longer offered. Choose another one: {names}.")]
    ModelGone {
        /// Name of the conversation's model.
        name: String,
        /// Names of the available models.
        names: String,
    },
    /// A file of the message does not exist, or belongs to another user.
    #[error("There is no file with the ID {0}. It may have been deleted. Upload it again.")]
    NoSuchFile(uuid::Uuid),
    /// A file of the message cannot be read, or not yet.
    #[error("The file {0:?} is not ready. Wait until it is, or remove it from the message.")]
    FileNotReady(String),
    /// The message has an image, and the model reads none.
    #[error("The model {name:?} reads no images. {advice}")]
    ModelReadsNoImages {
        /// Name of the model.
        name: String,
        /// A sentence that names the models that read images.
        advice: String,
    },
    /// The store of files failed.
    #[error("The storage for files is unreachable. Try again in a moment.")]
    Files(#[source] tallybook_files::FilesError),
    /// The maximum number of direct model calls is running.
    #[error("Too many short questions are being answered. Try again in a moment.")]
    TooManyDirectCalls,
    /// The user has reached a limit.
    #[error(transparent)]
    LimitReached(#[from] Reached),
    /// The maximum number of exports is running.
    #[error("Other conversations are being exported. Try again when one of them has been downloaded.")]
    TooManyExports,
    /// The share link does not exist, or belongs to another user.
    #[error("There is no such link. It may have been deleted.")]
    NoSuchShare,
    /// The user has the maximum number of share links.
    #[error("You have the maximum number of share links. Delete one that you no longer need.")]
    TooManyShares,
    /// The conversation is too long for one page.
    #[error("This conversation is too long to be shared as one page. Export it instead.")]
    TooLargeToShare,
    /// The messages are too many or too large to be copied to a new conversation.
    #[error(
        "There are too many messages here to copy into a new chat. Choose an earlier message, or start a new chat."
    )]
    TooLargeToCopy,
    /// The share link shows no answer.
    #[error("This conversation has no answer yet, so there is nothing to copy. Start a new chat instead.")]
    NothingToCopy,
    /// The input is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The server is shutting down.
    #[error("The server is about to restart. Try again in a moment.")]
    ShuttingDown,
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
    /// JSON to be sent could not be serialized, or stored JSON could not be parsed.
    #[error("The server could not encode its response.")]
    Encode(#[from] serde_json::Error),
}

impl TransactionError for ServiceError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}
