//! Checks, hashes and verifies passwords, with argon2id as OWASP recommends (19 MiB, two passes, one lane), which are
//! the library's defaults. Hashing is slow on purpose, so it runs on blocking threads and its concurrency is limited.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use argon2::{
    Argon2,
    password_hash::{self, PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use super::{
    AccountsError,
    limits::{HASH_TIMEOUT, MAX_HASHES_AT_ONCE, MAX_HASHES_WAITING, MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS},
    weak_passwords::is_weak,
};

/// A password as the user entered it. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct Password(SecretString);

impl Password {
    /// Wraps any text, without checking it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// Checks a new password of the account `name`. Fails with `Invalid` if it is too short, too long or easy to guess.
    pub(crate) fn check(&self, name: &str) -> Result<(), AccountsError> {
        let text = self.0.expose_secret();
        if text.chars().count() < MIN_PASSWORD_CHARS || !self.is_short_enough() {
            return Err(AccountsError::Invalid(format!(
                "A password must have at least {MIN_PASSWORD_CHARS} characters and at most {MAX_PASSWORD_BYTES} bytes. \
                 Several unrelated words are easy to remember."
            )));
        }
        if is_weak(text, name) {
            let problem = "This password is easy to guess: it consists of common words, repetitions, neighboring keys \
                           or your name. Choose several unrelated words.";
            return Err(AccountsError::Invalid(problem.to_owned()));
        }
        Ok(())
    }

    fn is_short_enough(&self) -> bool {
        self.0.expose_secret().len() <= MAX_PASSWORD_BYTES
    }

    fn hash(&self) -> Result<String, password_hash::Error> {
        Ok(Argon2::default().hash_password(self.0.expose_secret().as_bytes())?.to_string())
    }

    fn is_of(&self, hash: &str) -> Result<bool, password_hash::Error> {
        let hash = PasswordHash::new(hash)?;
        Ok(Argon2::default().verify_password(self.0.expose_secret().as_bytes(), &hash).is_ok())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}

/// Hashes and verifies passwords, a limited number concurrently.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    at_once: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Hash with which passwords of unknown users are compared, so that the answer takes as long as for existing users.
    dummy_hash: Arc<OnceLock<String>>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            at_once: Arc::new(Semaphore::new(MAX_HASHES_AT_ONCE)),
            waiting: Arc::new(Semaphore::new(MAX_HASHES_WAITING)),
            dummy_hash: Arc::default(),
        }
    }
}

impl Hasher {
    /// Checks a new password for the account `name` and returns its hash. Fails with `Invalid` if the password breaks a
    /// rule, and with `Busy` if too many passwords are waiting.
    pub(crate) async fn hash(&self, password: Password, name: &str) -> Result<String, AccountsError> {
        password.check(name)?;
        self.run(move || password.hash()).await
    }

    /// Returns `true` if the password matches the hash. Without a hash, returns `false` after the same time. Fails with
    /// `Busy` if too many passwords are waiting.
    pub(crate) async fn verify(&self, password: Password, hash: Option<String>) -> Result<bool, AccountsError> {
        if !password.is_short_enough() {
            return Ok(false);
        }
        let dummy_hash = Arc::clone(&self.dummy_hash);
        self.run(move || {
            if let Some(hash) = hash {
                return password.is_of(&hash);
            }
            let hash = match dummy_hash.get() {
                Some(hash) => hash.clone(),
                None => Password::new("an account that does not exist").hash()?,
            };
            password.is_of(dummy_hash.get_or_init(|| hash)).map(|_| false)
        })
        .await
    }

    /// Creates the hash for unknown users in advance, so that the first sign-in with an unknown name does not take
    /// longer.
    pub(crate) async fn warm_up(&self) {
        // An error that persists occurs again, and is reported, when a user signs in.
        let _ = self.verify(Password::new(""), None).await;
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, password_hash::Error> + Send + 'static,
    ) -> Result<T, AccountsError> {
        let Ok(_waiting) = self.waiting.try_acquire() else { return Err(AccountsError::Busy) };
        let permit = timeout(HASH_TIMEOUT, Arc::clone(&self.at_once).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(AccountsError::Busy) };
        let done = spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        done.await.map_err(AccountsError::Task)?.map_err(AccountsError::Hash)
    }
}

#[cfg(test)]
mod tests {
    use super::{Hasher, Password};

    #[tokio::test]
    async fn a_password_is_verified_by_its_hash() {
        let hasher = Hasher::default();
        let password = || Password::new("correct horse battery");
        let hash = hasher.hash(password(), "ann").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, hasher.hash(password(), "ann").await.unwrap(), "each has a salt of its own");
        assert!(hasher.verify(password(), Some(hash.clone())).await.unwrap());
        assert!(!hasher.verify(Password::new("correct horse batter"), Some(hash)).await.unwrap());
        assert!(!hasher.verify(password(), None).await.unwrap());
        assert_eq!(format!("{:?}", password()), "Password");
    }

    #[test]
    fn passwords_have_a_minimum_and_a_maximum_length() {
        assert!(Password::new("十二文字の合言葉がこれです").check("ann").is_ok());
        for text in ["", "elevenchars", "123456789012", &"a password ".repeat(100)] {
            assert!(Password::new(text).check("ann").is_err(), "{text}");
        }
    }
}
