//! The error of a failed tool call.

/// Error of a tool call. `message` and `error_type` are shown to the model, in the tool history and in the web UI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Kind of failure: `invalid_argument`, `unknown_tool`, `timeout`, `panic`, or one that the tool defines.
    pub error_type: String,
    /// Readable reason. If an argument is invalid: `invalid_<field>: <reason>`.
    pub message: String,
}

impl ToolError {
    /// Creates the error of an invalid argument: `invalid_<field>: <reason>`.
    pub fn invalid(field: &str, reason: impl std::fmt::Display) -> Self {
        Self { error_type: "invalid_argument".to_owned(), message: format!("invalid_{field}: {reason}") }
    }

    /// Creates any other error, with the tool's own `error_type`.
    pub fn other(error_type: &str, message: impl Into<String>) -> Self {
        Self { error_type: error_type.to_owned(), message: message.into() }
    }
}
