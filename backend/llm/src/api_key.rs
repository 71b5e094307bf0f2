//! A provider's API key, which is kept out of output, logs and error messages.

use secrecy::{ExposeSecret as _, SecretString};

use super::limits::MIN_SCRUBBED_KEY_BYTES;

/// A secret key. It does not implement `Display`, its `Debug` output does not contain it, and its memory is wiped on
/// drop.
#[derive(Clone, Debug)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// Creates a key, without the surrounding white space that copying and key files add.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Returns `true` if the key is empty, for example because its variable is set to an empty string.
    pub(crate) fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// Returns the key itself. Use it only for the header that carries it, and to search for it in other texts.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns `text` with every occurrence of the key redacted. A key of a few characters is not redacted, because it
    /// would match parts of ordinary words. Such a key is a dummy for a server that checks no key.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let key = self.expose();
        if key.len() < MIN_SCRUBBED_KEY_BYTES { text.to_owned() } else { text.replace(key, "[key]") }
    }
}

#[cfg(test)]
mod tests {
    use super::ApiKey;

    #[test]
    fn a_key_never_shows() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(key.expose(), "sk-secret");
        assert!(!format!("{key:?}").contains("sk-"), "{key:?}");
        assert_eq!(key.scrub("key sk-secret is wrong"), "key [key] is wrong");
        for dummy in [" ", "x", "sk-none"] {
            assert_eq!(ApiKey::new(dummy).scrub("maximum context, sk-none"), "maximum context, sk-none");
        }
    }
}
