//! Secrets that the server makes: what a cookie, a key or a link holds. The database has their SHA-256 alone. They are as
//! random as the hash is long, so a slow hash, as for passwords, would add nothing.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::AccountsError;

const BYTES: usize = 32;

/// Characters of a secret, in hex.
const CHARS: usize = BYTES * 2;

/// What a key begins with, so that it is known for one wherever it is found.
const KEY_MARK: &str = "tb_";

/// Characters of a key that lists show.
const PREFIX_CHARS: usize = KEY_MARK.len() + 8;

/// A secret just made. It does not show itself.
pub(crate) struct Secret(String);

impl Secret {
    /// What a cookie or a link holds.
    pub(super) fn make() -> Result<Self, AccountsError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(AccountsError::Random)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// A key.
    pub(super) fn make_key() -> Result<Self, AccountsError> {
        Ok(Self(format!("{KEY_MARK}{}", Self::make()?.0)))
    }

    /// What the database has of it.
    pub(super) fn hash(&self) -> SecretHash {
        SecretHash::of_text(&self.0)
    }

    /// How a key begins.
    pub(super) fn prefix(&self) -> &str {
        self.0.get(..PREFIX_CHARS).unwrap_or_default()
    }

    /// The secret itself, to be told once.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// What the database has of a secret: its SHA-256 in hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretHash(pub(super) String);

impl SecretHash {
    /// Of what somebody showed, if it looks like a cookie's or a link's secret.
    pub(super) fn of_token(shown: &str) -> Option<Self> {
        is_hex(shown).then(|| Self::of_text(shown))
    }

    /// Of what somebody showed, if it looks like a key.
    pub(super) fn of_key(shown: &str) -> Option<Self> {
        shown.strip_prefix(KEY_MARK).is_some_and(is_hex).then(|| Self::of_text(shown))
    }

    /// Of any text, where it only has to be as long as all others.
    pub(super) fn of_text(text: &str) -> Self {
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
    fn secrets_differ_and_are_known_by_their_hash_alone() {
        let (one, other) = (Secret::make().unwrap(), Secret::make().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(SecretHash::of_token(one.expose()), Some(one.hash()));
        assert!(!one.hash().0.contains(one.expose()) && !format!("{one:?}").contains(one.expose()));
        let key = Secret::make_key().unwrap();
        assert_eq!(SecretHash::of_key(key.expose()), Some(key.hash()));
        assert_eq!((key.prefix().len(), key.expose().starts_with(key.prefix())), (11, true));
    }

    #[test]
    fn what_is_no_secret_is_not_looked_for() {
        let long = "a".repeat(65);
        for shown in ["", "abc", "' OR 1=1 --", &long, &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!(SecretHash::of_token(shown), None, "{shown}");
            assert_eq!(SecretHash::of_key(&format!("tb_{shown}")), None, "{shown}");
        }
        assert_eq!(SecretHash::of_key(&"a".repeat(67)), None);
    }
}
