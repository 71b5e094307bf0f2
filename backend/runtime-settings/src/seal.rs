//! Encrypts secrets that are stored in the database: AES-256-GCM under a key that is derived with HKDF-SHA256 from
//! `SECRET_KEY`, or from a file beside an embedded database.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Salt},
};
use secrecy::{ExposeSecret as _, SecretString};
use tallybook_database::create_private_file;

/// Separates keys of this use from keys that other uses may derive from the same secret.
const SALT: &[u8] = b"tallybook sealed settings";

/// Length of the identifier of a key, in bytes.
const KEY_ID_BYTES: usize = 8;

/// Number of random bytes in a key file.
const KEY_FILE_BYTES: usize = 32;

/// Maximum size of a key file, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// Encrypts and decrypts secrets.
#[derive(Debug)]
pub struct Sealer(Source);

/// Source of the key.
#[derive(Debug)]
enum Source {
    Key(Key),
    /// A file that is created when the first secret is stored.
    File {
        path: PathBuf,
        key: Mutex<Option<Key>>,
    },
    Missing,
}

#[derive(Clone, Debug)]
struct Key {
    id: String,
    key: Arc<LessSafeKey>,
}

/// An encrypted value.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Sealed {
    pub(crate) key_id: String,
    pub(crate) nonce: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// The reason why a value cannot be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The server has no key.
    #[error(
        "API keys and headers cannot be stored, because SECRET_KEY is not set. Set it to a random text of at least 32 characters, the \
         same on every server of this database, and restart."
    )]
    NoKey,
    /// The file with the key cannot be read or created.
    #[error("The file {path} with the key of stored secrets cannot be used: {source}.")]
    KeyFile {
        /// Path of the file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The value was encrypted with another key, or is damaged, or the key is lost.
    #[error(
        "The stored secret cannot be decrypted, because the server's secret key (SECRET_KEY, or the key file beside the \
         database) has changed or is missing. Restore it, or enter the API key or the headers again."
    )]
    OtherKey,
    /// The library failed, for example for lack of random numbers.
    #[error("The secret cannot be encrypted.")]
    Failed,
}

impl Sealer {
    /// Creates a sealer with the secret in `SECRET_KEY`. Without it, an embedded database has the key in `file`, which
    /// is created when it is first needed; a database in memory has a key that is lost with it.
    pub fn new(secret: Option<&SecretString>, is_embedded: bool, file: Option<PathBuf>) -> Result<Self, SealError> {
        Ok(Self(match (secret, file) {
            (Some(secret), _) => Source::Key(Key::derive(secret.expose_secret().as_bytes())?),
            (None, Some(path)) => Source::File { path, key: Mutex::default() },
            (None, None) if is_embedded => Source::Key(Key::derive(&random::<KEY_FILE_BYTES>()?)?),
            (None, None) => Source::Missing,
        }))
    }

    /// Encrypts a value. It can only be decrypted with the same `context`, which says what the value belongs to.
    pub(crate) fn seal(&self, value: &SecretString, context: &str) -> Result<Sealed, SealError> {
        let Key { id, key } = self.key(true)?;
        let nonce = random::<NONCE_LEN>()?;
        let mut ciphertext = value.expose_secret().as_bytes().to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context.as_bytes()),
            &mut ciphertext,
        )
        .map_err(|_| SealError::Failed)?;
        Ok(Sealed { key_id: id, nonce: nonce.to_vec(), ciphertext })
    }

    /// Decrypts a value that was encrypted with this `context`.
    pub(crate) fn open(&self, sealed: &Sealed, context: &str) -> Result<SecretString, SealError> {
        let Key { id, key } = self.key(false).map_err(|error| match error {
            SealError::NoKey => SealError::OtherKey,
            SealError::KeyFile { source, .. } if source.kind() == io::ErrorKind::NotFound => SealError::OtherKey,
            error => error,
        })?;
        if id != sealed.key_id {
            return Err(SealError::OtherKey);
        }
        let nonce = Nonce::try_assume_unique_for_key(&sealed.nonce).map_err(|_| SealError::OtherKey)?;
        let mut text = sealed.ciphertext.clone();
        let opened = key.open_in_place(nonce, Aad::from(context.as_bytes()), &mut text);
        let opened = opened.map_err(|_| SealError::OtherKey)?;
        str::from_utf8(opened).map(SecretString::from).map_err(|_| SealError::OtherKey)
    }

    fn key(&self, may_create: bool) -> Result<Key, SealError> {
        match &self.0 {
            Source::Key(key) => Ok(key.clone()),
            Source::Missing => Err(SealError::NoKey),
            Source::File { path, key } => {
                let mut known = key.lock();
                if let Some(key) = &*known {
                    return Ok(key.clone());
                }
                let unusable = |source| SealError::KeyFile { path: path.display().to_string(), source };
                let secret = match read(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && may_create => {
                        let secret = hex::encode(random::<KEY_FILE_BYTES>()?);
                        create(path, &secret).map_err(unusable)?;
                        secret
                    }
                    read => read.map_err(unusable)?,
                };
                let key = Key::derive(secret.trim().as_bytes())?;
                *known = Some(key.clone());
                Ok(key)
            }
        }
    }
}

impl Key {
    fn derive(secret: &[u8]) -> Result<Self, SealError> {
        let secret = Salt::new(HKDF_SHA256, SALT).extract(secret);
        let key = secret.expand(&[b"key"], &AES_256_GCM).map_err(|_| SealError::Failed)?;
        let mut id = [0; 32];
        let expanded = secret.expand(&[b"id"], HKDF_SHA256).and_then(|derived| derived.fill(&mut id));
        expanded.map_err(|_| SealError::Failed)?;
        let key = Arc::new(LessSafeKey::new(UnboundKey::from(key)));
        Ok(Self { id: hex::encode(&id[..KEY_ID_BYTES]), key })
    }
}

fn random<const N: usize>() -> Result<[u8; N], SealError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| SealError::Failed)?;
    Ok(bytes)
}

fn read(path: &Path) -> io::Result<String> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_KEY_FILE_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_KEY_FILE_BYTES} bytes")));
    }
    let secret = std::fs::read_to_string(path)?;
    if secret.trim().is_empty() { Err(io::Error::other("it is empty")) } else { Ok(secret) }
}

/// Creates the key file. It appears only when it is complete.
fn create(path: &Path, secret: &str) -> io::Result<()> {
    let unfinished = path.with_added_extension("new");
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_private_file(&unfinished)?;
    file.write_all(secret.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    std::fs::rename(unfinished, path)
}

#[cfg(test)]
mod tests {
    use secrecy::{ExposeSecret as _, SecretString};

    use super::{SealError, Sealer};

    fn with(secret: &str) -> Sealer {
        Sealer::new(Some(&secret.into()), true, None).unwrap()
    }

    #[test]
    fn a_value_opens_only_with_its_key_and_context() {
        let value: SecretString = "sk-canary".into();
        let sealed = with("one").seal(&value, "model a").unwrap();
        assert_eq!(with("one").open(&sealed, "model a").unwrap().expose_secret(), "sk-canary");
        assert!(!sealed.ciphertext.windows(9).any(|part| part == b"sk-canary"));
        for outcome in [with("two").open(&sealed, "model a"), with("one").open(&sealed, "model b")] {
            assert!(matches!(outcome, Err(SealError::OtherKey)));
        }
        let again = with("one").seal(&value, "model a").unwrap();
        assert_ne!(again.ciphertext, sealed.ciphertext);
    }

    #[test]
    fn a_key_file_is_created_once_and_only_to_seal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tallybook.db.key");
        let reopened = || Sealer::new(None, true, Some(path.clone())).unwrap();
        let sealed = with("one").seal(&"sk".into(), "c").unwrap();
        assert!(matches!(reopened().open(&sealed, "c"), Err(SealError::OtherKey)));
        assert!(!path.exists());
        let sealed = reopened().seal(&"sk".into(), "c").unwrap();
        assert_eq!(reopened().open(&sealed, "c").unwrap().expose_secret(), "sk");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn without_a_key_nothing_is_sealed() {
        let sealer = Sealer::new(None, false, None).unwrap();
        assert!(sealer.seal(&"sk".into(), "c").unwrap_err().to_string().contains("SECRET_KEY"));
    }
}
