//! Receives the content of a file into a temporary file, so that memory stays bounded however large the file is.

use sha2::{Digest as _, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::{fs::File, io::AsyncWriteExt as _, sync::OwnedSemaphorePermit};

use crate::FilesError;

/// Maximum number of bytes that are buffered before they are written to the temporary file.
const BUFFER_BYTES: usize = 256 * 1024;

/// An upload in progress. Dropping it deletes the temporary file.
#[derive(Debug)]
pub struct Upload {
    file: File,
    path: TempPath,
    hasher: Sha256,
    bytes: u64,
    max_bytes: u64,
    permit: OwnedSemaphorePermit,
}

/// An upload whose content is complete.
pub(crate) struct Received {
    /// Path of the temporary file, which is deleted when this is dropped.
    pub(crate) path: TempPath,
    /// SHA-256 hash of the content, in hex.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    _permit: OwnedSemaphorePermit,
}

impl Upload {
    pub(crate) async fn begin(max_bytes: u64, permit: OwnedSemaphorePermit) -> Result<Self, FilesError> {
        let made = tokio::task::spawn_blocking(NamedTempFile::new).await;
        let made = made.map_err(|error| FilesError::Temporary(std::io::Error::other(error)))?;
        let (file, path) = made.map_err(FilesError::Temporary)?.into_parts();
        let mut file = File::from_std(file);
        file.set_max_buf_size(BUFFER_BYTES);
        Ok(Self { file, path, hasher: Sha256::new(), bytes: 0, max_bytes, permit })
    }

    /// Adds a part of the content. Fails with `TooLarge` if the file gets larger than the operator allows.
    pub async fn write(&mut self, part: &[u8]) -> Result<(), FilesError> {
        self.bytes = self.bytes.saturating_add(part.len() as u64);
        if self.bytes > self.max_bytes {
            return Err(FilesError::TooLarge { max_bytes: self.max_bytes });
        }
        self.hasher.update(part);
        self.file.write_all(part).await.map_err(FilesError::Temporary)
    }

    /// Ends the upload.
    pub(crate) async fn end(mut self) -> Result<Received, FilesError> {
        self.file.flush().await.map_err(FilesError::Temporary)?;
        let Self { path, hasher, bytes, permit, .. } = self;
        Ok(Received { path, sha256: hex::encode(hasher.finalize()), bytes, _permit: permit })
    }
}
