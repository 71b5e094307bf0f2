//! The address of this server as clients know it, for links in answers.

use actix_web::HttpRequest;

use super::{cookie, error::ApiError, guard, public_url::PublicUrl};

/// Returns the address for links in the answer to a request: the configured one, else the one that the request was sent to.
/// Returns `None` if the request names no host.
pub(super) fn origin(configured: Option<&PublicUrl>, request: &HttpRequest) -> Option<String> {
    match configured {
        Some(configured) => Some(configured.to_string()),
        None => requested_origin(request).ok(),
    }
}

/// Returns the address that a request was sent to: `https`, except on localhost, because browsers sign in by https alone.
/// Fails if the request names no host.
pub(super) fn requested_origin(request: &HttpRequest) -> Result<String, ApiError> {
    let host = guard::asked(request.headers())?.ok_or(ApiError::ForeignHost)?;
    let scheme = if cookie::is_on_this_machine(request) { "http" } else { "https" };
    Ok(format!("{scheme}://{host}"))
}
