//! The operator's token for `/metrics` (`METRICS_TOKEN`). It opens no other path.

use std::fmt;

use actix_web::http::header::{self, HeaderMap};
use sha2::{Digest as _, Sha256};

use super::bearer::bearer;

/// Path at which the token is accepted.
pub(crate) const METRICS: &str = "/metrics";

/// Minimum length of a token, in bytes. A shorter one could be guessed.
const MIN_BYTES: usize = 16;

/// The hash of the token. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct MetricsToken([u8; 32]);

/// The error for a token that is too short, or that no `Authorization` header can contain.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must have at least {MIN_BYTES} characters, without spaces; create one with openssl rand -hex 32")]
pub struct MetricsTokenError;

/// Marks a request that was sent with the token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricsAccess;

impl MetricsToken {
    /// Creates the token from the operator's setting.
    pub fn new(token: &str) -> Result<Self, MetricsTokenError> {
        let is_sound = token.len() >= MIN_BYTES && token.bytes().all(|byte| byte.is_ascii_graphic());
        if is_sound { Ok(Self(Sha256::digest(token).into())) } else { Err(MetricsTokenError) }
    }

    /// Returns `true` if the request's `Authorization` header has the token. Takes the same time for every wrong token.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(bearer);
        let shown: [u8; 32] = Sha256::digest(shown.unwrap_or_default()).into();
        self.0.iter().zip(shown).fold(0, |difference, (one, other)| difference | (one ^ other)) == 0
    }
}

impl fmt::Debug for MetricsToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MetricsToken")
    }
}
