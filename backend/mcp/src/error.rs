//! What went wrong with a server, as a failed call and as a sentence.

use std::{error::Error, io};

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError},
};
use tallybook_tools::ToolError;

use super::{endpoint::SettingsError, limits::HANDSHAKE_TIMEOUT, text, token::TokenError};

/// What went wrong, by whose fault: each is an `error_type` of calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ServerError {
    /// It cannot be reached, or is gone.
    #[error("the server cannot be reached: {0}")]
    Unavailable(String),
    /// It does not keep to the protocol, or refuses what it is asked.
    #[error("the server did not answer as it should: {0}")]
    Protocol(String),
    /// It lets nobody in, or there is no token for it.
    #[error("not signed in to the server: {0}")]
    Auth(String),
    /// It took too long.
    #[error("the server took longer than {0} seconds")]
    Timeout(u64),
    /// What the operator wrote about it is not to be used.
    #[error("{0}")]
    Settings(#[from] SettingsError),
}

impl ServerError {
    /// Whether the server itself is in doubt, and not just this one answer of it.
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Auth(_))
    }

    /// The failed call.
    pub(super) fn of_call(&self) -> ToolError {
        let error_type = match self {
            Self::Unavailable(_) | Self::Settings(_) => "mcp_unavailable",
            Self::Protocol(_) => "mcp_protocol",
            Self::Auth(_) => "mcp_auth",
            Self::Timeout(_) => "timeout",
        };
        ToolError::other(error_type, self.to_string())
    }
}

impl From<ServiceError> for ServerError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => {
                Self::Protocol(format!("{} ({})", text::message(&error.message), error.code.0))
            }
            ServiceError::TransportSend(error) => of_transport(&*error.error),
            ServiceError::TransportClosed => Self::Unavailable("the connection was lost".to_owned()),
            other => Self::Protocol(text::message(&other.to_string())),
        }
    }
}

impl From<ClientInitializeError> for ServerError {
    fn from(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => of_transport(&*error.error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => (*fallback).into(),
            ClientInitializeError::ConnectionClosed(_) => {
                Self::Unavailable("it closed the connection before it said who it is".to_owned())
            }
            ClientInitializeError::JsonRpcError(error) => {
                Self::Protocol(format!("{} ({})", text::message(&error.message), error.code.0))
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                Self::Protocol("it speaks none of the protocol versions that are known here".to_owned())
            }
            _ => Self::Protocol("it did not shake hands as the protocol says".to_owned()),
        }
    }
}

impl From<io::Error> for ServerError {
    /// A program could not be started.
    fn from(error: io::Error) -> Self {
        Self::Unavailable(format!("its program does not start: {error}"))
    }
}

impl ServerError {
    /// No handshake in time.
    pub(super) fn handshake_timeout() -> Self {
        Self::Timeout(HANDSHAKE_TIMEOUT.as_secs())
    }
}

/// Only the innermost cause is told: the outer ones hold addresses, and those may hold keys.
fn of_transport(error: &(dyn Error + 'static)) -> ServerError {
    let mut cause = error;
    loop {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(token) = inner.and_then(|inner| inner.downcast_ref::<TokenError>()) {
            return ServerError::Auth(token.to_string());
        }
        if cause.is::<AuthRequiredError>() {
            return ServerError::Auth("it does not take the token, or wants one".to_owned());
        }
        if cause.is::<InsufficientScopeError>() {
            return ServerError::Auth("the token does not allow this".to_owned());
        }
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            match error {
                StreamableHttpError::UnexpectedServerResponse(message)
                    if message.starts_with("HTTP 401") || message.starts_with("HTTP 403") =>
                {
                    return ServerError::Auth(text::message(message));
                }
                StreamableHttpError::UnexpectedServerResponse(message) => {
                    return ServerError::Protocol(text::message(message));
                }
                StreamableHttpError::ResponseBodyTooLarge { .. } => {
                    return ServerError::Protocol("its answer is longer than 2 MiB".to_owned());
                }
                StreamableHttpError::Sse(_)
                | StreamableHttpError::Deserialize(_)
                | StreamableHttpError::UnexpectedContentType(_) => {
                    return ServerError::Protocol(text::message(&error.to_string()));
                }
                _ => {}
            }
        }
        match cause.source() {
            Some(source) => cause = source,
            None => return ServerError::Unavailable(text::message(&cause.to_string())),
        }
    }
}
