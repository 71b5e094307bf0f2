//! Overviews of all files, for the operator (`tallybook admin files`) and for admins (`/admin/figures`).

use crate::{
    Files, FilesError,
    limits::LISTED_FILES,
    store::{
        blobs,
        overview::{self, FileLine, UserSize, UserTotal},
    },
};

/// The files of all users.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Totals by user, ordered by name. Users without files are left out.
    pub users: Vec<UserTotal>,
    /// Number of contents, and their size in bytes.
    pub contents: (i64, i64),
    /// Number of contents that no file refers to, and their size in bytes.
    pub unused_contents: (i64, i64),
    /// Number of objects in the store of `FILES_URL` that no row refers to.
    pub orphans: u64,
}

impl Files {
    /// Returns the totals of all users, and of what nothing refers to.
    pub async fn overview(&self) -> Result<Overview, FilesError> {
        Ok(Overview {
            users: overview::list_totals(&self.db).await?,
            contents: blobs::sum(&self.db).await?,
            unused_contents: blobs::sum_unused(&self.db).await?,
            orphans: self.count_orphans().await?,
        })
    }

    /// Lists number and size of the files of at most `limit` users, those with the most bytes first.
    pub async fn list_sizes(&self, limit: u32) -> Result<Vec<UserSize>, FilesError> {
        Ok(overview::list_sizes(&self.db, limit).await?)
    }

    /// Lists the newest files of the user with this name, at most [`LISTED_FILES`].
    pub async fn list_of_name(&self, name: &str) -> Result<Vec<FileLine>, FilesError> {
        Ok(overview::list_files(&self.db, name, LISTED_FILES).await?)
    }
}
