//! The key that a provider wants: how it is kept out of what is printed, logged and shown.

use secrecy::{ExposeSecret as _, SecretString};

use super::limits::MIN_SCRUBBED_KEY_BYTES;

/// A secret key. It cannot be displayed, its `Debug` text does not hold it, and its memory is wiped when it is dropped.
#[derive(Clone, Debug)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// The key without the white space around it, which copying and key files bring along.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Whether there is nothing in it, as when a variable is set to nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// The key itself, for the one header that carries it, and for finding it where it should not be.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// `text` with every occurrence of the key taken out. A key of a few characters stays: it is a dummy for a server
    /// that checks none, and would be found in ordinary words.
    pub(super) fn scrub(&self, text: &str) -> String {
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
