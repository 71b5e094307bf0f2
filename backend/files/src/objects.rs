//! Content outside the database: in a folder that all servers share, or in an S3-compatible store. Each upload writes
//! an object of its own, so that deleting an object never takes the content of a later upload.

use std::{
    error::Error as _,
    io::{self, ErrorKind},
    ops::Range,
    sync::Arc,
    time::Duration,
};

use async_stream::try_stream;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use object_store::{
    ObjectStore, ObjectStoreExt as _, RetryConfig, WriteMultipart, aws::AmazonS3Builder, local::LocalFileSystem,
    path::Path,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use uuid::Uuid;

use crate::{
    FilesError, StorageUrl,
    limits::{OBJECT_PART_BYTES, OBJECT_READ_BYTES},
};

/// Maximum time for retries of a request to the store.
const RETRY_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of retries of a request to the store.
const MAX_RETRIES: usize = 4;

/// Maximum number of parts of an object that are sent at once.
const PARTS_AT_ONCE: usize = 1;

/// A folder or a bucket with the content of files.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

/// An object in the store.
#[derive(Clone, Debug)]
pub(crate) struct StoredObject {
    /// Path below the prefix, as in `blobs.storage`.
    pub(crate) key: String,
    pub(crate) written_at: DateTime<Utc>,
}

impl Objects {
    /// Opens the folder or the bucket; `None` if the content is in the database. Sends no requests.
    pub(crate) fn open(url: &StorageUrl) -> Result<Option<Self>, FilesError> {
        let (store, prefix): (Arc<dyn ObjectStore>, Path) = match url {
            StorageUrl::Database => return Ok(None),
            StorageUrl::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(FilesError::Temporary)?;
                let store = LocalFileSystem::new_with_prefix(folder).map_err(store_failed)?;
                // Otherwise a stored file could be empty after a power failure.
                (Arc::new(store.with_automatic_cleanup(true).with_fsync(true)), Path::default())
            }
            StorageUrl::S3 { url } => {
                tallybook_http_client::install_crypto_provider();
                let retries =
                    RetryConfig { max_retries: MAX_RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
                let store = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retries).build();
                let prefix = Path::from_url_path(url.path()).map_err(|error| store_failed(error.into()))?;
                (Arc::new(store.map_err(store_failed)?), prefix)
            }
        };
        Ok(Some(Self { store, prefix }))
    }

    /// Writes the content to a new object, and returns its key. Holds a few parts of the content in memory.
    pub(crate) async fn create(
        &self,
        sha256: &str,
        source: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<String, FilesError> {
        let key = format!("{}/{sha256}-{}", &sha256[..2], Uuid::new_v4().simple());
        let path = self.path(&key);
        let mut first = Vec::new();
        fill(source, &mut first).await?;
        if first.len() < OBJECT_PART_BYTES {
            self.store.put(&path, first.into()).await.map_err(store_failed)?;
            return Ok(key);
        }
        let upload = self.store.put_multipart(&path).await.map_err(store_failed)?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, OBJECT_PART_BYTES);
        let mut part = first;
        while !part.is_empty() {
            if let Err(error) = writer.wait_for_capacity(PARTS_AT_ONCE).await {
                let _ = writer.abort().await;
                return Err(store_failed(error));
            }
            writer.put(Bytes::from(std::mem::take(&mut part)));
            fill(source, &mut part).await?;
        }
        writer.finish().await.map_err(store_failed)?;
        Ok(key)
    }

    /// Reads a range of an object, part by part. The first part is read at once.
    ///
    /// Each part is a request of its own and is received completely before it is handed on. `object_store` limits a
    /// request to 30 seconds, including the response body. So a store that stops answering fails the read in bounded
    /// time, but a slow reader may take any time for the whole range.
    pub(crate) async fn read(
        &self,
        key: &str,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FilesError>>, FilesError> {
        if range.is_empty() {
            return Ok(futures_util::stream::empty().boxed());
        }
        let (store, path) = (Arc::clone(&self.store), self.path(key));
        let mut part = read_part(&*store, &path, range.clone()).await?;
        let stream = try_stream! {
            let mut at = range.start;
            loop {
                at += part.len() as u64;
                yield part;
                if at >= range.end {
                    break;
                }
                part = read_part(&*store, &path, at..range.end).await?;
            }
        };
        Ok(stream.boxed())
    }

    /// Returns the size of an object in bytes, or `None` if it is missing.
    pub(crate) async fn find_size(&self, key: &str) -> Result<Option<u64>, FilesError> {
        match self.store.head(&self.path(key)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_failed(error)),
        }
    }

    /// Deletes an object, if it is there.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), FilesError> {
        match self.store.delete(&self.path(key)).await {
            Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(store_failed(error)),
        }
    }

    /// Lists all objects.
    pub(crate) fn list(&self) -> BoxStream<'static, Result<StoredObject, FilesError>> {
        let prefix = self.prefix.clone();
        let objects = self.store.list(Some(&self.prefix));
        let object = move |meta: object_store::ObjectMeta| {
            let parts =
                meta.location.prefix_match(&prefix).map(|parts| parts.map(|part| part.as_ref().to_owned()).collect());
            let parts: Vec<String> = parts.unwrap_or_default();
            StoredObject { key: parts.join("/"), written_at: meta.last_modified }
        };
        objects.map_ok(object).map_err(store_failed).boxed()
    }

    fn path(&self, key: &str) -> Path {
        if self.prefix.as_ref().is_empty() { Path::from(key) } else { Path::from(format!("{}/{key}", self.prefix)) }
    }
}

/// Reads the first part of a range that is not empty.
async fn read_part(store: &dyn ObjectStore, path: &Path, range: Range<u64>) -> Result<Bytes, FilesError> {
    let range = range.start..range.end.min(range.start + OBJECT_READ_BYTES);
    let length = range.end - range.start;
    let part = store.get_range(path, range).await.map_err(|error| match error {
        object_store::Error::NotFound { .. } => FilesError::Damaged,
        error => store_failed(error),
    })?;
    // A store returns less if the object is shorter.
    if part.len() as u64 == length { Ok(part) } else { Err(FilesError::Damaged) }
}

/// Reads the next part of the content.
async fn fill(source: &mut (dyn AsyncRead + Send + Unpin), part: &mut Vec<u8>) -> Result<(), FilesError> {
    source.take(OBJECT_PART_BYTES as u64).read_to_end(part).await.map(|_| ()).map_err(FilesError::Temporary)
}

/// Converts an error of the store. A full disk is an error of its own, because trying again does not help. A limit on
/// the size of files counts as a full disk.
fn store_failed(error: object_store::Error) -> FilesError {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let mut kinds = causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let is_full = |kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge);
    if kinds.any(is_full) { FilesError::StoreFull(error) } else { FilesError::Objects(error) }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::store_failed;
    use crate::FilesError;

    #[test]
    fn a_full_disk_is_not_an_unreachable_store() {
        let caused_by = |kind: ErrorKind| object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(Error::from(kind)),
        };
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert!(matches!(store_failed(caused_by(kind)), FilesError::StoreFull(_)), "{kind}");
        }
        assert!(matches!(store_failed(caused_by(ErrorKind::ConnectionRefused)), FilesError::Objects(_)));
    }
}
