//! Signing keys of the identity provider. Each key is random.

use openidconnect::{JsonWebKeyId, core::CoreEdDsaPrivateSigningKey};
use uuid::Uuid;

/// A signing key and its id.
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) signing: CoreEdDsaPrivateSigningKey,
}

impl Key {
    pub(crate) fn make(id: &str) -> Self {
        let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        der.extend_from_slice(Uuid::new_v4().as_bytes());
        der.extend_from_slice(Uuid::new_v4().as_bytes());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", base64(&der));
        let id = id.to_owned();
        let signing = CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(JsonWebKeyId::new(id.clone())));
        Self { id, signing: signing.expect("a key") }
    }
}

/// Encodes bytes as base64. Their number must be a multiple of three.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63]))
    };
    bytes.chunks(3).flat_map(four).collect()
}
