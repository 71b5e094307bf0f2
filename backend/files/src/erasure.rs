//! Erases the files of one user at once, without the waiting time of a purge.

use tallybook_accounts::UserId;

use crate::{Files, FilesError, limits::PURGED_AT_ONCE, store::files};

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
                self.purge_file(&file).await?;
            }
        }
    }
}
