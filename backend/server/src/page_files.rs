//! Stores the page's files of the most recent versions in the database. A page requests the files of its own version.
//! During a deployment, or later if a tab stays open, a server of another version may receive the request; it finds the
//! files here. `http::site` stores the files, and `http::other_versions` serves them.

use bytes::Bytes;
use tallybook_database::{Database, Transaction, is_unique_violation, now, select, with_retries};

/// Maximum number of stored versions. The versions that were started last are kept.
const MAX_VERSIONS: u32 = 5;

/// Maximum size of a version's files, in bytes, including their compressed forms. The files are several times smaller.
const MAX_VERSION_BYTES: usize = 32 * 1024 * 1024;

/// Size of a part, in bytes. A statement with one part fits into any database's `max_allowed_packet`.
const PART_BYTES: usize = 256 * 1024;

/// A file of a version, or a compressed form of it.
#[derive(Clone, Debug)]
pub(crate) struct NewFile<'a> {
    pub(crate) name: &'a str,
    pub(crate) media_type: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) bytes: &'a Bytes,
}

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct FileRow {
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) tag: String,
}

/// The stored files, in the database that all replicas share.
#[derive(Clone, Debug)]
pub(crate) struct PageFiles {
    db: Database,
}

impl PageFiles {
    pub(crate) fn new(db: Database) -> Self {
        Self { db }
    }

    /// Stores the files of a version that has just started, unless they are already stored. Deletes the files of the
    /// oldest versions.
    pub(crate) async fn keep(&self, folder: &str, files: &[NewFile<'_>]) -> sqlx::Result<()> {
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if bytes > MAX_VERSION_BYTES {
            tracing::warn!(bytes, "the page's files are too large to store for open pages of this version");
            return Ok(());
        }
        if !with_retries(|| self.set_started(folder)).await? {
            // If another replica of this version stores the files at the same time, one of the two waits for the other.
            match with_retries(|| self.create(folder, files)).await {
                Err(error) if is_unique_violation(&error) => {}
                outcome => outcome?,
            }
        }
        with_retries(|| self.delete_old()).await
    }

    /// Returns the metadata of a file; `None` if it is not stored.
    pub(crate) async fn find(&self, folder: &str, name: &str) -> sqlx::Result<Option<FileRow>> {
        self.db
            .reader()
            .query(select!("SELECT name, media_type, tag FROM page_files WHERE folder = ? AND name = ?"))
            .bind(folder)
            .bind(name)
            .fetch_optional()
            .await
    }

    /// Returns the content of a file; `None` if it has just been deleted.
    pub(crate) async fn read(&self, folder: &str, name: &str) -> sqlx::Result<Option<Bytes>> {
        let parts: Vec<Vec<u8>> = self
            .db
            .reader()
            .query(select!("SELECT bytes FROM page_file_parts WHERE folder = ? AND name = ? ORDER BY part"))
            .bind(folder)
            .bind(name)
            .fetch_values()
            .await?;
        Ok((!parts.is_empty()).then(|| parts.concat().into()))
    }

    /// Updates the start time of a version. Returns `false` if the version is not stored.
    async fn set_started(&self, folder: &str) -> sqlx::Result<bool> {
        let done = self
            .db
            .writer()
            .query("UPDATE page_versions SET started_at = ? WHERE folder = ?")
            .bind(now())
            .bind(folder)
            .execute()
            .await?;
        Ok(done.rows == 1)
    }

    async fn create(&self, folder: &str, files: &[NewFile<'_>]) -> sqlx::Result<()> {
        let mut tx = self.db.begin().await?;
        tx.query("INSERT INTO page_versions (folder, started_at) VALUES (?, ?)")
            .bind(folder)
            .bind(now())
            .execute()
            .await?;
        for file in files {
            create_file(&mut tx, folder, file).await?;
        }
        tx.commit().await
    }

    async fn delete_old(&self) -> sqlx::Result<()> {
        // The inner query keeps MySQL from merging the subquery: MySQL cannot read from the table that the statement
        // deletes from.
        self.db
            .writer()
            .query(
                "DELETE FROM page_versions WHERE folder NOT IN (SELECT folder FROM \
                 (SELECT folder FROM page_versions ORDER BY started_at DESC, folder LIMIT ?) newest)",
            )
            .bind(MAX_VERSIONS)
            .execute()
            .await
            .map(|_| ())
    }
}

async fn create_file(tx: &mut Transaction, folder: &str, file: &NewFile<'_>) -> sqlx::Result<()> {
    let NewFile { name, media_type, tag, bytes } = file;
    tx.query("INSERT INTO page_files (folder, name, media_type, tag) VALUES (?, ?, ?, ?)")
        .bind(folder)
        .bind(name)
        .bind(media_type)
        .bind(tag)
        .execute()
        .await?;
    // An empty file has one part, too.
    let parts = if bytes.is_empty() { vec![&bytes[..]] } else { bytes.chunks(PART_BYTES).collect() };
    for (number, part) in (0_i32..).zip(parts) {
        tx.query("INSERT INTO page_file_parts (folder, name, part, bytes) VALUES (?, ?, ?, ?)")
            .bind(folder)
            .bind(name)
            .bind(number)
            .bind(part)
            .execute()
            .await?;
    }
    Ok(())
}
