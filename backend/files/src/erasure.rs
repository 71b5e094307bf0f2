//! Erases the files of one user at once, without the waiting time of a purge.

use tallybook_accounts::UserId;
use tallybook_database::now;

use crate::{
    Files, FilesError,
    limits::PURGED_AT_ONCE,
    store::{blobs, files},
};

impl Files {
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
                self.delete_row(file.id).await?;
                let hashes = [Some(file.sha256), file.model_sha256, file.thumb_sha256];
                for sha256 in hashes.into_iter().flatten() {
                    if let Some(blob) = blobs::find(&self.db, &sha256).await? {
                        self.purge_content(&blob, now()).await?;
                    }
                }
            }
        }
    }
}
