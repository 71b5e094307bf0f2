//! Reads the token of an `Authorization` header: an API key, or the token for `/metrics`.

/// Returns the token of an `Authorization` header.
pub(crate) fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, key) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}
