//! Errors of model requests, with a message for users and a stable code.

use super::{quirks::Quirk, setting_names::SettingNames};

/// An error of a model request or of reading its answer. Each message says what to do next and is safe to display: it
/// contains no keys and no raw bodies.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The provider rejected the API key (401, or another status with a reason that names the key).
    #[error("The model provider rejected the API key ({detail}). Check {advice}.")]
    Auth {
        /// The status and the provider's message, truncated.
        detail: String,
        /// The setting that holds the API key, and whether a change needs a restart.
        advice: String,
    },
    /// The provider does not know the model or the address (404).
    #[error("The model provider has no model {model:?} at this URL ({detail}). Check {settings}.")]
    NotFound {
        /// The requested model.
        model: String,
        /// The status and the provider's message, truncated.
        detail: String,
        /// The settings that name the model and the address.
        settings: String,
    },
    /// The model does not support tools, or its server was started without tool support. The caller may retry the
    /// request without tools.
    #[error(
        "The model {model:?} cannot call tools: {detail}. Choose another model, or set the tool mode to auto or prompt \
         to describe tools in the prompt."
    )]
    ToolsUnsupported {
        /// The requested model.
        model: String,
        /// The provider's message, truncated.
        detail: String,
    },
    /// The provider rejected the request (400, 403, 413, 422 and others).
    #[error("The model provider rejected the request ({status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's message, truncated.
        detail: String,
        /// The parts of the request that the server cannot accept, most likely first. The caller may retry the request
        /// without one of them.
        quirks: Vec<Quirk>,
    },
    /// The account has no credit left (402, `insufficient_quota`). Retrying later does not help.
    #[error("The account at the model provider is out of credit ({detail}). Add credit, or choose another model.")]
    OutOfCredit {
        /// The status and the provider's message, truncated.
        detail: String,
    },
    /// The prompt exceeds the model's context window. The caller may retry the request with a shorter history.
    #[error(
        "The message does not fit into the model's context window, even without the earlier messages ({detail}). \
         Shorten the message, or choose a model with a larger context window."
    )]
    ContextTooLong {
        /// Size of the context window in tokens, if the provider reports it.
        limit: Option<usize>,
        /// The provider's message, truncated.
        detail: String,
    },
    /// The provider is overloaded or limits the request rate (408, 409, 429, 503, 529, `overloaded_error`).
    #[error("The model provider cannot answer right now ({detail}). Try again in a moment.")]
    Busy {
        /// The status and the provider's message, truncated.
        detail: String,
    },
    /// An internal error of the provider or of a proxy in front of it (all other 5xx, `api_error`).
    #[error("The model provider has an internal error ({detail}). Try again in a moment.")]
    Failing {
        /// The status and the provider's message, truncated.
        detail: String,
    },
    /// The connection to the provider failed.
    #[error("The model provider is unreachable at {address}. Check {setting} and the network.")]
    Unreachable {
        /// Scheme, host and port, without path and user info.
        address: String,
        /// The setting that holds the address.
        setting: String,
        /// The cause, for the log.
        #[source]
        source: reqwest::Error,
    },
    /// The provider sent nothing for longer than the timeout.
    #[error("The model provider sent nothing for {seconds} seconds. Try again, or raise LLM_TIMEOUT_SECS.")]
    Timeout {
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// The stream was aborted or is malformed.
    #[error("The model's answer was interrupted: {detail}. Try again.")]
    BadStream {
        /// A description of the failure.
        detail: String,
    },
}

impl ModelError {
    /// Returns `true` if the provider's refusal mentions the temperature. The caller may retry the request without one.
    pub fn refuses_temperature(&self) -> bool {
        matches!(self, Self::Refused { detail, .. } if detail.contains("temperature"))
    }

    /// Returns the parts of the request that the model's server cannot accept, most likely first.
    pub(crate) fn quirks(&self) -> &[Quirk] {
        match self {
            Self::Refused { quirks, .. } => quirks,
            Self::ToolsUnsupported { .. } => &[Quirk::NoTools],
            _ => &[],
        }
    }

    /// Inserts the names of this model's settings into the message. Passes the provider's text through `clean`, which
    /// makes it safe to display.
    pub(crate) fn finished(mut self, names: &SettingNames, clean: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::Auth { advice, .. } => *advice = names.key_advice(),
            Self::NotFound { settings, .. } => *settings = format!("{} and {}", names.model, names.base_url),
            _ => {}
        }
        match &mut self {
            Self::Auth { detail, .. }
            | Self::NotFound { detail, .. }
            | Self::ToolsUnsupported { detail, .. }
            | Self::Refused { detail, .. }
            | Self::OutOfCredit { detail }
            | Self::ContextTooLong { detail, .. }
            | Self::Busy { detail }
            | Self::Failing { detail }
            | Self::BadStream { detail } => *detail = clean(detail),
            Self::Unreachable { .. } | Self::Timeout { .. } => {}
        }
        self
    }

    /// Returns the stable error code, which is sent as `code` in the `error` event and stored in `model_calls.error`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "model_auth",
            Self::NotFound { .. } => "model_not_found",
            Self::ToolsUnsupported { .. } => "model_without_tools",
            Self::Refused { .. } => "model_refused_request",
            Self::OutOfCredit { .. } => "model_out_of_credit",
            Self::ContextTooLong { .. } => "model_context_too_long",
            Self::Busy { .. } => "model_busy",
            Self::Failing { .. } => "model_failing",
            Self::Unreachable { .. } => "model_unreachable",
            Self::Timeout { .. } => "model_timeout",
            Self::BadStream { .. } => "model_bad_stream",
        }
    }
}
