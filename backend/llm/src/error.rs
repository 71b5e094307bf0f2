//! Why a model could not be asked, in words for people and by a stable code.

/// Why a model could not be asked, or its answer not be read. Each message says what to do next and is fit for the
/// page: no keys, no raw bodies.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The key was refused (401, 403).
    #[error("The model provider refused the API key ({status}). Check LLM_API_KEY and restart the server.")]
    Auth {
        /// The HTTP status.
        status: u16,
    },
    /// The provider does not know the model or the address (404).
    #[error(
        "The model provider knows no model {model:?} at this address ({detail}). Check LLM_MODEL and LLM_BASE_URL."
    )]
    NotFound {
        /// The model asked for.
        model: String,
        /// The status, and the provider's own message, shortened.
        detail: String,
    },
    /// The model, or the server as it was started, takes no tools. The question may be asked again without.
    #[error("The model {model:?} cannot call tools: {detail}. Choose another LLM_MODEL.")]
    ToolsUnsupported {
        /// The model asked for.
        model: String,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The provider does not accept the request (400, 413, 422).
    #[error("The model provider refused the request ({status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The model does not read as much as it was told. The question may be asked again with less before it.
    #[error(
        "This is more than the model can read at once, even with less of what was said before ({detail}). Shorten the \
         message, or choose a model that reads more."
    )]
    ContextTooLong {
        /// How many tokens it reads, where it says so.
        limit: Option<usize>,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The provider is overloaded or limits the rate (408, 409, 429, 503, 529, `overloaded_error`).
    #[error("The model provider cannot answer right now ({detail}). Try again in a moment.")]
    Busy {
        /// The status or the provider's word for it.
        detail: String,
    },
    /// Something broke at the provider, or on the way to it (all other 5xx, `api_error`).
    #[error("Something broke at the model provider ({detail}). Try again in a moment.")]
    Failing {
        /// The status, and the provider's own message, shortened.
        detail: String,
    },
    /// No connection.
    #[error("The model provider cannot be reached at {address}. Check LLM_BASE_URL and the network.")]
    Unreachable {
        /// Scheme, host and port; no path, no user info.
        address: String,
        /// The cause, for the log.
        #[source]
        source: reqwest::Error,
    },
    /// Nothing came for too long.
    #[error("The model provider sent nothing for {seconds} seconds. Try again, or raise LLM_TIMEOUT_SECS.")]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// The stream broke off or made no sense.
    #[error("The model's answer broke off: {detail}. Try again.")]
    BadStream {
        /// What was wrong with it.
        detail: String,
    },
}

impl ModelError {
    /// Whether the model takes no temperature, whichever it is. The question may be asked again without.
    pub fn refuses_temperature(&self) -> bool {
        matches!(self, Self::Refused { detail, .. } if detail.contains("temperature"))
    }

    /// The stable name of the cause, sent as `code` in the `error` event and stored in `model_calls.error`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "model_auth",
            Self::NotFound { .. } => "model_not_found",
            Self::ToolsUnsupported { .. } => "model_without_tools",
            Self::Refused { .. } => "model_refused_request",
            Self::ContextTooLong { .. } => "model_context_too_long",
            Self::Busy { .. } => "model_busy",
            Self::Failing { .. } => "model_failing",
            Self::Unreachable { .. } => "model_unreachable",
            Self::Timeout { .. } => "model_timeout",
            Self::BadStream { .. } => "model_bad_stream",
        }
    }
}
