//! Receives the content of a file into a temporary file, so that memory stays bounded however large the file is.

use std::{
    fs::File,
    io::{self, Seek as _},
};

use sha2::{Digest as _, Sha256};
use tallybook_tools::Slot;
use tokio::io::AsyncWriteExt as _;

use crate::{FilesError, metrics::UploadCount};

/// Maximum number of bytes that are buffered on the way to the temporary file, or from it.
pub(crate) const BUFFER_BYTES: usize = 256 * 1024;

/// An upload in progress. Its temporary file has no name, so the system deletes it even if the server is killed.
#[derive(Debug)]
pub struct Upload {
    file: tokio::fs::File,
    hasher: Sha256,
    bytes: u64,
    max_bytes: u64,
    slot: Slot,
    count: UploadCount,
}

/// An upload whose content is complete.
pub(crate) struct Received {
    file: File,
    /// SHA-256 hash of the content, in hex.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    pub(crate) count: UploadCount,
    _slot: Slot,
}

impl Upload {
    pub(crate) async fn begin(max_bytes: u64, slot: Slot, count: UploadCount) -> Result<Self, FilesError> {
        let created = tokio::task::spawn_blocking(tempfile::tempfile).await;
        let created = created.map_err(|error| FilesError::Temporary(io::Error::other(error)))?;
        let mut file = tokio::fs::File::from_std(created.map_err(FilesError::Temporary)?);
        file.set_max_buf_size(BUFFER_BYTES);
        Ok(Self { file, hasher: Sha256::new(), bytes: 0, max_bytes, slot, count })
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
        let Self { file, hasher, bytes, slot, count, .. } = self;
        let file = file.into_std().await;
        Ok(Received { file, sha256: hex::encode(hasher.finalize()), bytes, count, _slot: slot })
    }
}

impl Received {
    /// Opens the content at its beginning. All handles share one position, so the content is read through one of them
    /// at a time.
    pub(crate) fn open(&self) -> Result<File, FilesError> {
        let rewound = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        rewound.map_err(FilesError::Temporary)
    }
}
