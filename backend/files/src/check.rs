//! Verifies stored content: its hashes, and objects that no row refers to (`tallybook admin check`).

use chrono::TimeDelta;
use futures_util::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use tallybook_database::now;

use crate::{
    Files, FilesError,
    limits::{PURGED_AT_ONCE, UNUSED_HOURS},
    store::blobs::{self, BlobRow},
};

impl Files {
    /// Reads all content. Returns a sentence for each kind of damage; empty if there is none.
    pub async fn check(&self) -> Result<Vec<String>, FilesError> {
        let mut damaged = 0_u64;
        let mut last = String::new();
        loop {
            let some = blobs::list_after(&self.db, &last, PURGED_AT_ONCE).await?;
            let Some(newest) = some.last() else { break };
            last = newest.sha256.clone();
            for blob in &some {
                damaged += u64::from(!self.is_intact(blob).await?);
            }
        }
        let mut found = Vec::new();
        if damaged > 0 {
            found.push(format!("{damaged} contents of files are missing or differ from their hash"));
        }
        let orphans = self.count_orphans().await?;
        if orphans > 0 {
            found.push(format!("{orphans} objects in the storage of files belong to no file"));
        }
        Ok(found)
    }

    /// Returns `true` if the content has its size and its hash, or was purged meanwhile.
    async fn is_intact(&self, blob: &BlobRow) -> Result<bool, FilesError> {
        let hashed = async {
            if !self.contents.has_size(blob).await? {
                return Err(FilesError::Damaged);
            }
            let mut stream = self.contents.read(blob, 0..blob.bytes.unsigned_abs()).await?;
            let mut hasher = Sha256::new();
            while let Some(part) = stream.try_next().await? {
                hasher.update(&part);
            }
            Ok(hex::encode(hasher.finalize()))
        };
        match hashed.await {
            Ok(sha256) if sha256 == blob.sha256 => Ok(true),
            Ok(_) | Err(FilesError::Damaged) => Ok(!blobs::is_stored_at(&self.db, &blob.sha256, &blob.storage).await?),
            Err(error) => Err(error),
        }
    }

    /// Counts objects in the store of `FILES_URL` that no row refers to. Recent ones do not count: their uploads may be
    /// running.
    pub(crate) async fn count_orphans(&self) -> Result<u64, FilesError> {
        let Some(objects) = &self.contents.objects else { return Ok(0) };
        let before = now() - TimeDelta::hours(UNUSED_HOURS);
        let mut orphans = 0;
        let mut all = objects.list();
        while let Some(object) = all.try_next().await? {
            let name = object.key.rsplit('/').next().unwrap_or_default();
            let sha256 = name.split('-').next().unwrap_or_default();
            if object.written_at < before && !blobs::is_stored_at(&self.db, sha256, &object.key).await? {
                orphans += 1;
            }
        }
        Ok(orphans)
    }
}
