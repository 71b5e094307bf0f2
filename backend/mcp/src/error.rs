//! Errors of a server: as the error of a failed call, and as text for admins and users.

use std::{error::Error, io, iter};

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError},
};

use super::{endpoint::SettingsError, text, token::TokenError};

/// Error of the MCP client over HTTP.
pub(crate) type HttpError = StreamableHttpError<reqwest::Error>;

/// Reason why a server or a call failed, by the party at fault. Each variant has an `error_type` for calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServerError {
    /// The server cannot be reached, or the connection is lost.
    #[error("the server is unreachable: {0}")]
    Unavailable(String),
    /// The server violates the protocol, or refuses a request. Only admins may read the reason.
    #[error("the server returned an error or an invalid response: {0}")]
    Protocol(String),
    /// The server violates the protocol, or returns an error. Users may read the reason: the server's own error, or one
    /// of Tallybook's.
    #[error("the server returned an error or an invalid response: {0}")]
    InvalidResponse(String),
    /// The server refuses access, or no token could be obtained.
    #[error("the server refused access: {0}")]
    Auth(String),
    /// The server took longer than this many seconds.
    #[error("the server took longer than {0} seconds")]
    Timeout(u64),
    /// The operator's settings for the server cannot be used.
    #[error("{0}")]
    Settings(#[from] SettingsError),
}

impl ServerError {
    /// Returns `true` if the server itself may be unusable, and not only this one response.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Auth(_))
    }

    /// Returns the `error_type` of a call that failed with this error.
    pub(crate) fn error_type(&self) -> &'static str {
        match self {
            Self::Unavailable(_) | Self::Settings(_) => "mcp_unavailable",
            Self::Protocol(_) | Self::InvalidResponse(_) => "mcp_protocol",
            Self::Auth(_) => "mcp_auth",
            Self::Timeout(_) => "timeout",
        }
    }

    /// Describes the error without details of the network, which only admins may see.
    pub(crate) fn plain(&self, server: &str) -> String {
        match self {
            Self::Unavailable(_) => {
                format!("the tool server {server:?} is unreachable; retrying")
            }
            Self::Protocol(_) => format!("the tool server {server:?} returned an error or an invalid response"),
            Self::InvalidResponse(reason) => {
                format!("the tool server {server:?} returned an error or an invalid response: {reason}")
            }
            Self::Auth(_) => format!("the tool server {server:?} refused access to Tallybook"),
            Self::Timeout(seconds) => format!("the tool server {server:?} took longer than {seconds} seconds"),
            Self::Settings(_) => {
                format!("the settings of the tool server {server:?} are not valid; an admin must correct them")
            }
        }
    }
}

impl From<ServiceError> for ServerError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => {
                Self::InvalidResponse(format!("{} ({})", text::message(&error.message), error.code.0))
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
                Self::Unavailable("it closed the connection before the handshake".to_owned())
            }
            ClientInitializeError::JsonRpcError(error) => {
                Self::InvalidResponse(format!("{} ({})", text::message(&error.message), error.code.0))
            }
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let named: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
                Self::unknown_version(&named.join(", "))
            }
            other => {
                Self::Protocol(format!("its handshake violates the protocol: {}", text::message(&other.to_string())))
            }
        }
    }
}

impl From<io::Error> for ServerError {
    /// Converts the error of a program that could not be started.
    fn from(error: io::Error) -> Self {
        Self::Unavailable(format!("its program cannot be started: {error}"))
    }
}

impl ServerError {
    /// Creates the error for a server that answered the handshake with a protocol version that Tallybook does not
    /// support.
    pub(crate) fn unknown_version(version: &str) -> Self {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>().join(", ");
        let version = text::message(version);
        Self::InvalidResponse(format!("it uses protocol version {version:?}, but Tallybook supports {known}"))
    }
}

/// Converts a transport error. Uses the first cause of a known type, or else all causes.
fn of_transport(error: &(dyn Error + 'static)) -> ServerError {
    let mut cause = error;
    loop {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(token) = inner.and_then(|inner| inner.downcast_ref::<TokenError>()) {
            return ServerError::Auth(token.to_string());
        }
        if cause.is::<AuthRequiredError>() {
            return ServerError::Auth("it rejected the token or requires one".to_owned());
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
                    return ServerError::InvalidResponse("its response is longer than 2 MiB".to_owned());
                }
                StreamableHttpError::Sse(_)
                | StreamableHttpError::Deserialize(_)
                | StreamableHttpError::UnexpectedContentType(_) => {
                    return ServerError::Protocol(text::message(&error.to_string()));
                }
                _ => {}
            }
        }
        match cause_of(cause) {
            Some(source) => cause = source,
            None => return ServerError::Unavailable(text::message(&causes(error))),
        }
    }
}

/// Returns the cause of an error. `rmcp` does not return that of a request itself.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<HttpError>() {
        Some(StreamableHttpError::Client(cause)) => Some(cause),
        _ => error.source(),
    }
}

/// Returns all causes of an error, the outermost first. Leaves out messages with URLs, which may contain keys, and
/// messages that only repeat their cause.
fn causes(error: &(dyn Error + 'static)) -> String {
    let chain = iter::successors(Some(error), |error| cause_of(*error));
    let messages: Vec<String> = chain.map(ToString::to_string).filter(|message| !message.contains("://")).collect();
    let mut distinct: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_repeated = messages[index + 1..].iter().any(|cause| message.contains(cause.as_str()));
        if !is_repeated && !distinct.contains(&message.as_str()) {
            distinct.push(message);
        }
    }
    if distinct.is_empty() { "the request failed".to_owned() } else { distinct.join(": ") }
}
