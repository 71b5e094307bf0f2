//! Stores content once per SHA-256 hash, and reads it: in the database, or in the store of `FILES_URL`.

use std::ops::Range;

use async_stream::try_stream;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use tallybook_database::Database;
use tokio::{
    fs::File,
    io::{AsyncRead, AsyncReadExt as _},
};

use crate::{
    FilesError,
    limits::CHUNK_BYTES,
    objects::Objects,
    store::{
        blobs::{self, BlobRow, IN_DATABASE, NewBlob},
        is_referred_to,
    },
    upload::{BUFFER_BYTES, Received},
};

/// Content as a stream of parts.
pub type ContentStream = BoxStream<'static, Result<Bytes, FilesError>>;

/// A range of bytes: the first, and the one after the last.
pub type ContentRange = Range<u64>;

/// Content that is being read.
pub struct Content {
    /// Name of the file.
    pub name: String,
    /// Media type of the content.
    pub media_type: String,
    /// SHA-256 hash of the content, in hex.
    pub sha256: String,
    /// Size of the content, in bytes.
    pub bytes: u64,
    pub(crate) row: BlobRow,
}

/// Content to store.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    File(&'a Received),
    Bytes(&'a [u8]),
}

impl<'a> Source<'a> {
    fn open(self) -> Result<Box<dyn AsyncRead + Send + Unpin + 'a>, FilesError> {
        Ok(match self {
            Self::File(received) => {
                let mut file = File::from_std(received.open()?);
                file.set_max_buf_size(BUFFER_BYTES);
                Box::new(file)
            }
            Self::Bytes(bytes) => Box::new(bytes),
        })
    }
}

/// The content of all files.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) db: Database,
    /// `None` if new content is stored in the database.
    pub(crate) objects: Option<Objects>,
}

impl Contents {
    /// Stores content, unless it is stored already. If two uploads store the same content at once, both succeed. The
    /// content may be purged until a file refers to it; then it is missing or incomplete, and is to be stored again.
    pub(crate) async fn store(
        &self,
        sha256: &str,
        bytes: i64,
        media_type: &str,
        source: Source<'_>,
    ) -> Result<(), FilesError> {
        if blobs::touch(&self.db, sha256).await? {
            return Ok(());
        }
        let new = NewBlob { sha256, bytes, media_type, storage: IN_DATABASE, is_complete: false };
        if let Some(objects) = &self.objects {
            let key = objects.create(sha256, &mut *source.open()?).await?;
            let created = blobs::create(&self.db, NewBlob { storage: &key, is_complete: true, ..new }).await;
            if let Ok(true) = created {
                return Ok(());
            }
            // Another upload of the same content was first, or the database failed.
            objects.delete(&key).await?;
            created?;
            if blobs::touch(&self.db, sha256).await? {
                return Ok(());
            }
            // The row is of an upload to the database that was interrupted.
        } else {
            blobs::create(&self.db, new).await?;
        }
        self.store_chunks(sha256, source).await
    }

    async fn store_chunks(&self, sha256: &str, source: Source<'_>) -> Result<(), FilesError> {
        let mut source = source.open()?;
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let mut parts = 0_i32;
        loop {
            chunk.clear();
            (&mut source).take(CHUNK_BYTES as u64).read_to_end(&mut chunk).await.map_err(FilesError::Temporary)?;
            if chunk.is_empty() {
                break;
            }
            if !blobs::create_chunk(&self.db, sha256, parts, &chunk).await? {
                // It was purged meanwhile. Another upload may have begun to store it again, so its parts must not
                // count.
                return Ok(());
            }
            parts += 1;
        }
        Ok(blobs::complete(&self.db, sha256, parts).await?)
    }

    /// Purges those of these contents that no file refers to, whenever they were used. An upload that is about to refer
    /// to one of them stores it again.
    pub(crate) async fn purge_unreferenced(&self, hashes: impl Iterator<Item = &str>) -> Result<(), FilesError> {
        for sha256 in hashes {
            if let Some(blob) = blobs::find(&self.db, sha256).await? {
                self.delete(&blob, blobs::delete_complete(&self.db, &blob)).await?;
            }
        }
        Ok(())
    }

    /// Deletes content: its row with `delete_row`, then its object. Returns `false` if the row was not deleted. Fails with
    /// `StoreUnknown`, and deletes nothing, if the content is in an object but `FILES_URL` is not set.
    pub(crate) async fn delete(
        &self,
        blob: &BlobRow,
        delete_row: impl Future<Output = sqlx::Result<bool>>,
    ) -> Result<bool, FilesError> {
        let objects = match &self.objects {
            _ if blob.storage == IN_DATABASE => None,
            Some(objects) => Some(objects),
            None => return Err(FilesError::StoreUnknown),
        };
        let is_deleted = match delete_row.await {
            Err(error) if is_referred_to(&error) => false,
            deleted => deleted?,
        };
        // After the row: if the process is killed in between, the object remains, which `admin check` finds.
        if is_deleted && let Some(objects) = objects {
            objects.delete(&blob.storage).await?;
        }
        Ok(is_deleted)
    }

    /// Returns the row of content. Fails with `Damaged` if it is missing or incomplete.
    pub(crate) async fn find(&self, sha256: &str) -> Result<BlobRow, FilesError> {
        let row = blobs::find(&self.db, sha256).await?;
        row.filter(|row| row.stored_at.is_some()).ok_or(FilesError::Damaged)
    }

    /// Returns `false` if content is in an object that has another size or is missing. A store fails instead of
    /// reading beyond the end of an object.
    pub(crate) async fn has_size(&self, row: &BlobRow) -> Result<bool, FilesError> {
        match &self.objects {
            Some(objects) if row.storage != IN_DATABASE => {
                Ok(objects.find_size(&row.storage).await? == Some(row.bytes.unsigned_abs()))
            }
            _ => Ok(true),
        }
    }

    /// Reads a range of content.
    pub(crate) async fn read(&self, row: &BlobRow, range: ContentRange) -> Result<ContentStream, FilesError> {
        if row.storage != IN_DATABASE {
            let objects = self.objects.as_ref().ok_or(FilesError::Damaged)?;
            return objects.read(&row.storage, range).await;
        }
        let (db, sha256) = (self.db.clone(), row.sha256.clone());
        let chunk_bytes = CHUNK_BYTES as u64;
        let stream = try_stream! {
            let mut at = range.start;
            while at < range.end {
                let position = i32::try_from(at / chunk_bytes).map_err(|_| FilesError::Damaged)?;
                let chunk = blobs::find_chunk(&db, &sha256, position).await?.ok_or(FilesError::Damaged)?;
                let first = at - u64::from(position.unsigned_abs()) * chunk_bytes;
                let end = (range.end - at + first).min(chunk_bytes);
                let part = slice(&Bytes::from(chunk), first, end).ok_or(FilesError::Damaged)?;
                at += part.len() as u64;
                yield part;
            }
        };
        Ok(stream.boxed())
    }

    /// Reads all content into memory. Fails with `Damaged` if it has more than `max_bytes`.
    pub(crate) async fn read_all(&self, sha256: &str, max_bytes: i64) -> Result<Vec<u8>, FilesError> {
        let row = self.find(sha256).await?;
        if row.bytes > max_bytes {
            return Err(FilesError::Damaged);
        }
        let mut stream = self.read(&row, 0..row.bytes.unsigned_abs()).await?;
        let mut all = Vec::with_capacity(usize::try_from(row.bytes).unwrap_or_default());
        while let Some(part) = stream.try_next().await? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    }
}

fn slice(chunk: &Bytes, first: u64, end: u64) -> Option<Bytes> {
    let (first, end) = (usize::try_from(first).ok()?, usize::try_from(end).ok()?);
    (first < end && end <= chunk.len()).then(|| chunk.slice(first..end))
}
