//! Purges files that no message and no tool call refers to, and content that no file refers to: a day after their last
//! use, or at once when a user deletes a file. Every replica does this; concurrent purges of the same rows are
//! harmless.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    Files, FilesError,
    limits::{PURGE_INTERVAL, PURGED_AT_ONCE, UNUSED_HOURS},
    store::{
        blobs::{self, BlobRow},
        files,
    },
};

impl Files {
    /// Purges unused files and contents periodically. Never returns.
    pub async fn run_maintenance(self) {
        loop {
            if let Err(error) = self.purge_unused().await {
                tracing::warn!(%error, "files that nothing refers to could not be purged");
            }
            tokio::time::sleep(PURGE_INTERVAL).await;
        }
    }

    /// Purges files and content that nothing has referred to for a day. Fails with `StoreUnknown` at the end if there is
    /// content in a folder or a bucket, but `FILES_URL` is not set.
    pub async fn purge_unused(&self) -> Result<(), FilesError> {
        let before = self.db.reader().now().await? - TimeDelta::hours(UNUSED_HOURS);
        let mut any = false;
        loop {
            let unused = files::list_unused(&self.db, before, PURGED_AT_ONCE).await?;
            let mut purged = 0;
            for id in unused {
                purged += u32::from(self.delete_row(id).await?);
            }
            if purged == 0 {
                break;
            }
            any = true;
        }
        while self.purge_contents(before).await? {
            any = true;
        }
        if any {
            self.db.empty_journal().await?;
        }
        self.check_erasable().await
    }

    /// Purges some of the content that nothing refers to. Returns `false` if none was purged.
    async fn purge_contents(&self, before: DateTime<Utc>) -> Result<bool, FilesError> {
        let mut purged = false;
        let has_store = self.contents.objects.is_some();
        for blob in blobs::list_unused(&self.db, before, has_store, PURGED_AT_ONCE).await? {
            purged |= self.purge_content(&blob, before).await?;
        }
        Ok(purged)
    }

    /// Purges content, unless a file refers to it or an upload has used it since `before`.
    async fn purge_content(&self, blob: &BlobRow, before: DateTime<Utc>) -> Result<bool, FilesError> {
        self.contents.delete(blob, blobs::delete_unused(&self.db, &blob.sha256, before)).await
    }
}
