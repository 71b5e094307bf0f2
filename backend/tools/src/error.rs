//! How a tool says that it failed.

/// A failed call. The model sees `message` and `error_type`; so do the tool history and the page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The kind of failure: `invalid_argument`, `unknown_tool`, `timeout`, `panic`, or a tool's own word.
    pub error_type: String,
    /// In plain words, `invalid_<field>: reason` where an argument is to blame.
    pub message: String,
}

impl ToolError {
    /// An argument is to blame: `invalid_<field>: <reason>`.
    pub fn invalid(field: &str, reason: impl std::fmt::Display) -> Self {
        Self { error_type: "invalid_argument".to_owned(), message: format!("invalid_{field}: {reason}") }
    }

    /// Any other failure, under the tool's own word for it.
    pub fn other(error_type: &str, message: impl Into<String>) -> Self {
        Self { error_type: error_type.to_owned(), message: message.into() }
    }
}
