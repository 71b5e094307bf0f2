//! Versions of resources that several admins can change: reads the header `If-Match`, and sends the header `ETag`.

use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, http::header};
use serde::Serialize;
use tallybook_runtime_settings::SettingsError;

use super::error::ApiError;

/// Returns the version in the header `If-Match`; `None` if the request accepts every version. Fails with `changed` if
/// the header is not a valid version tag.
pub(crate) fn expected_version(request: &HttpRequest, changed: SettingsError) -> Result<Option<i64>, ApiError> {
    let Some(value) = request.headers().get(header::IF_MATCH) else { return Ok(None) };
    let tag = value.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(None);
    }
    tag.trim_matches('"').parse().map(Some).map_err(|_| changed.into())
}

/// Responds with a resource, and with its version in the header `ETag`.
pub(crate) fn with_version<T: Serialize>(
    mut response: HttpResponseBuilder,
    version: Option<i64>,
    resource: &T,
) -> HttpResponse {
    if let Some(version) = version {
        response.insert_header((header::ETAG, format!("\"{version}\"")));
    }
    response.json(resource)
}
