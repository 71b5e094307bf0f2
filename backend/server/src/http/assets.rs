//! The addresses of the page's files: those of this server's version (`site`), and of others (`other_versions`).

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderValue},
};

use super::{error::ApiError, other_versions, site::LICENSES_FILE, state::State};

const NOT_FOUND: &str = "There is no such file.\n";

const NO_LICENSES: &str = "This build has no list of licenses. `cargo xtask build` writes one.\n";

/// The page's files that are asked for by names of their own.
pub(super) const UNVERSIONED: [&str; 5] =
    ["/favicon.svg", "/manifest.webmanifest", "/icon-192.png", "/icon-512.png", "/icon-maskable-512.png"];

pub(super) async fn versioned(state: State, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(response) = state.site.versioned(&request) {
        return Ok(response);
    }
    if let Some(response) = other_versions::answer(&state, &request).await? {
        return Ok(response);
    }
    // A cache on the way must not remember that a server of another version did not have a file.
    Ok(not_found().insert_header((header::CACHE_CONTROL, "no-store")).body(NOT_FOUND))
}

/// The licenses of all that the program and the page are made of, as `cargo xtask build` wrote them.
pub(super) const LICENSES: &str = "/licenses";

pub(super) async fn licenses(state: State, request: HttpRequest) -> HttpResponse {
    state.site.named(&request, LICENSES_FILE).unwrap_or_else(|| not_found().body(NO_LICENSES))
}

pub(super) async fn unversioned(state: State, request: HttpRequest) -> HttpResponse {
    state.site.unversioned(&request).unwrap_or_else(|| not_found().body(NOT_FOUND))
}

/// The program that answers in a browser while the server is out of reach. It is asked for anew at each visit, and talks to
/// this server alone, which its own policy has to allow.
pub(super) async fn service_worker(state: State, request: HttpRequest) -> HttpResponse {
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
