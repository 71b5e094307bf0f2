//! Errors that end a turn without an outcome.

use tallybook_llm::ModelError;

use super::recorder::RecordError;

/// An error that ends a turn without an outcome. A tool's failure is not one of these: it is a result that the model
/// sees.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A user stopped the turn, or the server shuts down.
    #[error("the turn was stopped")]
    Cancelled,
    /// The turn exceeded its time limit.
    #[error(
        "The answer was ended because it took longer than {seconds} seconds. Ask for less at a time, or raise \
         TURN_TIMEOUT_SECS."
    )]
    TurnTimeout {
        /// The limit, in seconds.
        seconds: u64,
    },
    /// The model could not be called, or its answer could not be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An event could not be stored, so the turn must not continue.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A prompt could not be rendered.
    #[error("The system prompt cannot be rendered: {0}")]
    Prompt(#[from] askama::Error),
}

impl AgentError {
    /// Returns the stable error code, sent as `code` in the `error` event.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Cancelled => "stopped",
            Self::TurnTimeout { .. } => "turn_timeout",
            Self::Model(error) => error.code(),
            Self::Record(error) => error.code(),
            Self::Prompt(_) => "internal",
        }
    }
}
