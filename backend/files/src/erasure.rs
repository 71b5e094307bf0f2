//! Erases the files of one user at once, without the waiting time of a purge.

use tallybook_accounts::UserId;

use crate::{
    Files, FilesError,
    limits::PURGED_AT_ONCE,
    store::{blobs, files},
};

impl Files {
    /// Checks that content can be erased. Fails with `StoreUnknown` if it is in a folder or a bucket, but `FILES_URL` is
    /// not set.
    pub async fn check_erasable(&self) -> Result<(), FilesError> {
        if self.contents.objects.is_none() && blobs::has_objects(&self.db).await? {
            return Err(FilesError::StoreUnknown);
        }
        Ok(())
    }

    /// Erases all files of a user, and their content unless another user has the same. The user's conversations must be
    /// erased before. Repeating an interrupted erasure continues it.
    pub async fn erase(&self, user: UserId) -> Result<(), FilesError> {
        loop {
            let erased = files::list_of_user(&self.db, user, PURGED_AT_ONCE).await?;
            if erased.is_empty() {
                // If a reader still needs the database's journal, the server or the next purge empties it.
                self.db.empty_journal().await?;
                return Ok(());
            }
            for file in erased {
                self.purge_file(&file).await?;
            }
        }
    }
}
