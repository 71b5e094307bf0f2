//! HTTP handlers for the page's files: those of this server's version (`site`) and of other versions
//! (`other_versions`).

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderValue},
};

use super::{error::ApiError, other_versions, site::LICENSES_FILE, state::State};

const NOT_FOUND: &str = "This file does not exist.\n";

const NO_LICENSES: &str = "This build has no list of licenses. `cargo xtask build` generates it.\n";

/// Paths of the page's files that contain no version.
pub(crate) const UNVERSIONED: [&str; 5] =
    ["/favicon.svg", "/manifest.webmanifest", "/icon-192.png", "/icon-512.png", "/icon-maskable-512.png"];

pub(crate) async fn versioned(state: State, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(response) = state.site.versioned(&request) {
        return Ok(response);
    }
    if let Some(response) = other_versions::answer(&state, &request).await? {
        return Ok(response);
    }
    // Caches must not store this response: a server of another version may have the file.
    Ok(not_found().insert_header((header::CACHE_CONTROL, "no-store")).body(NOT_FOUND))
}

/// Path of the licenses of all components of the program and the page, which `cargo xtask build` collects.
pub(crate) const LICENSES: &str = "/licenses";

pub(crate) async fn licenses(state: State, request: HttpRequest) -> HttpResponse {
    state.site.named(&request, LICENSES_FILE).unwrap_or_else(|| not_found().body(NO_LICENSES))
}

pub(crate) async fn unversioned(state: State, request: HttpRequest) -> HttpResponse {
    state.site.unversioned(&request).unwrap_or_else(|| not_found().body(NOT_FOUND))
}

/// Serves the service worker, which answers in the browser while the server is unreachable. Browsers revalidate it on
/// each visit. It connects only to this server; its content security policy allows that.
pub(crate) async fn service_worker(state: State, request: HttpRequest) -> HttpResponse {
    let mut response = unversioned(state, request).await;
    let policy = HeaderValue::from_static("default-src 'none'; connect-src 'self'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn not_found() -> HttpResponseBuilder {
    let mut response = HttpResponse::NotFound();
    response.content_type("text/plain");
    response
}
