//! Every way in which a request is refused, and the one match that turns it into `application/problem+json`
//! (RFC 9457). Details of server errors stay out of the answer and go to the log under the same request id.

use actix_web::{
    HttpResponse, ResponseError,
    error::JsonPayloadError,
    http::{StatusCode, header},
};
use tallybook_protocol::Problem;

use super::request_id;
use crate::conversation::ServiceError;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// A use case refused it or failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The body is not JSON of the right shape.
    #[error("{0}")]
    Body(String),
    /// The body is too large.
    #[error("The request's body is too large. Send at most {} bytes.", super::MAX_BODY_BYTES)]
    BodyTooLarge,
    /// The body does not claim to be JSON.
    #[error("Send the body as JSON, with the header Content-Type: application/json.")]
    NotJson,
    /// The query string makes no sense.
    #[error("The query string is wrong: {0}.")]
    Query(String),
    /// There is nothing at this address.
    #[error("There is nothing at {0}. The README lists the API's addresses.")]
    NoSuchRoute(String),
    /// A page of another site sent it.
    #[error(
        "A page of another site sent this request. Open Tallybook under its own address. Behind a proxy, let the proxy \
         pass the header Host on unchanged."
    )]
    ForeignOrigin,
    /// It asks for a name that a server on a loopback address does not have, or for none.
    #[error("This server does not answer to that name. Open it as localhost, or add the name to ALLOWED_HOSTS.")]
    ForeignHost,
    /// A use case panicked or was aborted.
    #[error("The server failed unexpectedly.")]
    Task(#[source] tokio::task::JoinError),
}

impl ApiError {
    /// Status, the last part of the problem's type, and its title.
    fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Service(ServiceError::NotFound) => {
                (StatusCode::NOT_FOUND, "no-such-conversation", "No such conversation")
            }
            Self::Service(ServiceError::NoSuchMessage) => (StatusCode::NOT_FOUND, "no-such-message", "No such message"),
            Self::Service(ServiceError::TurnRunning) => (StatusCode::CONFLICT, "turn-running", "A turn is running"),
            Self::Service(ServiceError::NothingToContinue) => {
                (StatusCode::CONFLICT, "nothing-to-continue", "Nothing to continue")
            }
            Self::Service(ServiceError::Invalid(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input")
            }
            Self::Service(ServiceError::ShuttingDown) => {
                (StatusCode::SERVICE_UNAVAILABLE, "shutting-down", "The server is stopping")
            }
            Self::Service(ServiceError::Storage(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "storage-unavailable", "The database is out of reach")
            }
            Self::Service(ServiceError::Encode(_)) | Self::Task(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error")
            }
            Self::Body(_) => (StatusCode::BAD_REQUEST, "bad-body", "The body cannot be read"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "The body is not JSON"),
            Self::Query(_) => (StatusCode::BAD_REQUEST, "bad-query", "The query string is wrong"),
            Self::NoSuchRoute(_) => (StatusCode::NOT_FOUND, "no-such-route", "Nothing here"),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign-origin", "Another site's request"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, "foreign-host", "Not this server's name"),
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.kind().0
    }

    fn error_response(&self) -> HttpResponse {
        let (status, kind, title) = self.kind();
        let request_id = request_id::current();
        if status.is_server_error() {
            let cause = std::error::Error::source(self).map(ToString::to_string);
            tracing::error!(%request_id, kind, cause, "{self}");
        }
        let mut response = HttpResponse::build(status);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, "5"));
        }
        response.content_type("application/problem+json").json(Problem {
            kind: format!("/problems/{kind}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.to_string(),
            request_id: request_id.to_string(),
        })
    }
}

impl From<JsonPayloadError> for ApiError {
    fn from(error: JsonPayloadError) -> Self {
        match error {
            JsonPayloadError::OverflowKnownLength { .. } | JsonPayloadError::Overflow { .. } => Self::BodyTooLarge,
            JsonPayloadError::ContentType => Self::NotJson,
            JsonPayloadError::Deserialize(error) => {
                Self::Body(format!("The body is not the JSON that is expected here: {error}."))
            }
            other => Self::Body(format!("The body cannot be read: {other}.")),
        }
    }
}
