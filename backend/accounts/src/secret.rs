//! Secrets that the server generates for cookies, API keys and links. The database stores only their SHA-256. They have
//! as many random bits as the hash, so a slow hash, as for passwords, would add nothing.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::AccountsError;

const BYTES: usize = 32;

/// Length of a secret in hex, in characters.
const CHARS: usize = BYTES * 2;

/// Prefix of every API key, so that a leaked key can be recognized as one.
const KEY_MARK: &str = "tb_";

/// Number of leading characters of an API key that lists show.
const PREFIX_CHARS: usize = KEY_MARK.len() + 8;

/// A newly generated secret. Its `Debug` output does not contain it.
pub struct Secret(String);

impl Secret {
    /// Generates a secret for a cookie or a link. Fails with `Random` if the operating system returns no random
    /// numbers.
    pub(crate) fn make() -> Result<Self, AccountsError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(AccountsError::Random)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// Generates an API key: [`KEY_MARK`] and a secret.
    pub(crate) fn make_key() -> Result<Self, AccountsError> {
        Ok(Self(format!("{KEY_MARK}{}", Self::make()?.0)))
    }

    /// Returns the hash to store.
    pub(crate) fn hash(&self) -> SecretHash {
        SecretHash::of_text(&self.0)
    }

    /// Returns the beginning of an API key, for lists.
    pub(crate) fn prefix(&self) -> &str {
        self.0.get(..PREFIX_CHARS).unwrap_or_default()
    }

    /// Returns the secret itself, which is shown to the user only once.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// SHA-256 of a secret in hex, as the database stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretHash(pub(crate) String);

impl SecretHash {
    /// Hashes a secret of a cookie or a link. Returns `None` if `shown` doesn't have the form of one.
    pub(crate) fn of_token(shown: &str) -> Option<Self> {
        is_hex(shown).then(|| Self::of_text(shown))
    }

    /// Hashes an API key. Returns `None` if `shown` doesn't have the form of one.
    pub(crate) fn of_key(shown: &str) -> Option<Self> {
        shown.strip_prefix(KEY_MARK).is_some_and(is_hex).then(|| Self::of_text(shown))
    }

    /// Hashes any text, also for use as a key of fixed length.
    pub(crate) fn of_text(text: &str) -> Self {
        Self(hex::encode(Sha256::digest(text)))
    }
}

fn is_hex(text: &str) -> bool {
    text.len() == CHARS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::{Secret, SecretHash};

    #[test]
    fn secrets_are_unique_and_stored_as_hashes() {
        let (one, other) = (Secret::make().unwrap(), Secret::make().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(SecretHash::of_token(one.expose()), Some(one.hash()));
        assert!(!one.hash().0.contains(one.expose()) && !format!("{one:?}").contains(one.expose()));
        let key = Secret::make_key().unwrap();
        assert_eq!(SecretHash::of_key(key.expose()), Some(key.hash()));
        assert_eq!((key.prefix().len(), key.expose().starts_with(key.prefix())), (11, true));
    }

    #[test]
    fn texts_that_cannot_be_secrets_are_not_searched_for() {
        let long = "a".repeat(65);
        for shown in ["", "abc", "' OR 1=1 --", &long, &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!(SecretHash::of_token(shown), None, "{shown}");
            assert_eq!(SecretHash::of_key(&format!("tb_{shown}")), None, "{shown}");
        }
        assert_eq!(SecretHash::of_key(&"a".repeat(67)), None);
    }
}
