//! Gives every request an id, which is in its answer, in its problems and in the log.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
};
use uuid::Uuid;

tokio::task_local! {
    static REQUEST_ID: Uuid;
}

/// Runs a request under an id of its own.
pub(super) async fn with_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = Uuid::new_v4();
    let mut response = REQUEST_ID.scope(id, next.call(request)).await?;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    Ok(response)
}

/// The id of the request that is being answered; nil outside one.
pub(super) fn current() -> Uuid {
    REQUEST_ID.try_with(|id| *id).unwrap_or_default()
}
