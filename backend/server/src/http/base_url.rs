//! The base URL of links in responses: the configured one, or the one that the client used.

use actix_web::HttpRequest;

use super::{cookie, error::ApiError, public_url::PublicUrl, security};

/// Returns the address for links in the response to a request: the configured one, or the one that the request was sent
/// to. Returns `None` if no address is configured and the request names no host.
pub(crate) fn base_url(configured: Option<&PublicUrl>, request: &HttpRequest) -> Option<String> {
    match configured {
        Some(configured) => Some(configured.to_string()),
        None => requested_base_url(request).ok(),
    }
}

/// Returns the address that a request was sent to: `https`, except on localhost, because browsers keep sessions only
/// over HTTPS. Fails if the request names no host.
pub(crate) fn requested_base_url(request: &HttpRequest) -> Result<String, ApiError> {
    let host = security::host_of(request.headers())?.ok_or(ApiError::ForeignHost)?;
    let scheme = if cookie::is_localhost(request) { "http" } else { "https" };
    Ok(format!("{scheme}://{host}"))
}
