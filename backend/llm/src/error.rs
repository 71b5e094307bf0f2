//! Why a model could not be asked, in words for people and by a stable code.

use super::{quirks::Quirk, setting_names::SettingNames};

/// Why a model could not be asked, or its answer not be read. Each message says what to do next and is fit for the
/// page: no keys, no raw bodies.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The key was refused (401, or another status whose reason is the key).
    #[error("The model provider refused the API key ({detail}). Check {setting} and restart the server.")]
    Auth {
        /// The status, and the provider's own message, shortened.
        detail: String,
        /// The setting that the key comes from.
        setting: String,
    },
    /// The provider does not know the model or the address (404).
    #[error("The model provider knows no model {model:?} at this address ({detail}). Check {settings}.")]
    NotFound {
        /// The model asked for.
        model: String,
        /// The status, and the provider's own message, shortened.
        detail: String,
        /// The settings that name the model and the address.
        settings: String,
    },
    /// The model, or the server as it was started, takes no tools. The question may be asked again without.
    #[error(
        "The model {model:?} cannot call tools: {detail}. Choose another model, or the tool mode auto or prompt, which \
         describe tools in the prompt."
    )]
    ToolsUnsupported {
        /// The model asked for.
        model: String,
        /// The provider's own message, shortened.
        detail: String,
    },
    /// The provider does not accept the request (400, 403, 413, 422).
    #[error("The model provider refused the request ({status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's own message, shortened.
        detail: String,
        /// The parts of the request that its server cannot take, the likeliest first. The question may be asked again
        /// without one of them.
        quirks: Vec<Quirk>,
    },
    /// The account has no credit left (402, `insufficient_quota`). Waiting does not help.
    #[error(
        "The account at the model provider is out of credit ({detail}). Add credit there, or choose another model."
    )]
    OutOfCredit {
        /// The status, and the provider's own message, shortened.
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
    #[error("The model provider cannot be reached at {address}. Check {setting} and the network.")]
    Unreachable {
        /// Scheme, host and port; no path, no user info.
        address: String,
        /// The setting that names the address.
        setting: String,
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

    /// Returns the parts of the request that the model's server cannot take, the likeliest first.
    pub(super) fn quirks(&self) -> &[Quirk] {
        match self {
            Self::Refused { quirks, .. } => quirks,
            Self::ToolsUnsupported { .. } => &[Quirk::NoTools],
            _ => &[],
        }
    }

    /// Names the settings of the model in question, and makes the provider's own words fit to be shown.
    pub(super) fn finished(mut self, names: &SettingNames, clean: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::Auth { setting, .. } => setting.clone_from(&names.api_key),
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

    /// The stable name of the cause, sent as `code` in the `error` event and stored in `model_calls.error`.
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
