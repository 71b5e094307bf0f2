//! The address that links in an answer begin with.

use actix_web::HttpRequest;

use super::{cookie, guard, public_url::PublicUrl};

/// Returns the address for links in the answer to a request: the configured one, else the one that the request was sent to.
/// Except on localhost, browsers sign in by https alone. Returns `None` if the request names no host.
pub(super) fn origin(configured: Option<&PublicUrl>, request: &HttpRequest) -> Option<String> {
    if let Some(configured) = configured {
        return Some(configured.to_string());
    }
    let host = guard::asked(request.headers()).ok().flatten()?;
    let scheme = if cookie::is_on_this_machine(request) { "http" } else { "https" };
    Some(format!("{scheme}://{host}"))
}
