//! Why a turn ended without an outcome.

use tallybook_llm::ModelError;

use super::recorder::RecordError;

/// Why a turn ended without an outcome. A tool's failure is not among these: that is a result which the model sees.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Somebody stopped it, or the server shuts down.
    #[error("the turn was stopped")]
    Cancelled,
    /// It took longer than its limit.
    #[error(
        "The answer took longer than {seconds} seconds and was ended. Ask for less at once, or raise TURN_TIMEOUT_SECS."
    )]
    TurnTimeout {
        /// The limit.
        seconds: u64,
    },
    /// The model could not be asked or its answer not be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What happened could not be stored, so nothing more may happen.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The system prompt could not be made.
    #[error("The system prompt cannot be made: {0}")]
    Prompt(#[from] askama::Error),
}

impl AgentError {
    /// The stable name of the cause, sent as `code` in the `error` event.
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
