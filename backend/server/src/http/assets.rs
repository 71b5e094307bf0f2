//! The addresses of the page's files: those of this server's version (`site`), and of others (`other_versions`).

use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, http::header};

use super::{error::ApiError, other_versions, state::State};

const NOT_FOUND: &str = "There is no such file.\n";

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

pub(super) async fn unversioned(state: State, request: HttpRequest) -> HttpResponse {
    state.site.unversioned(&request).unwrap_or_else(|| not_found().body(NOT_FOUND))
}

fn not_found() -> HttpResponseBuilder {
    let mut response = HttpResponse::NotFound();
    response.content_type("text/plain");
    response
}
