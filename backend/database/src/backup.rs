//! Backs up an embedded database while it is used, and restores a backup. MySQL servers have their own tools.

use std::{
    io,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions as _, Connection as _, SqlitePool};

use crate::{
    database::Database,
    error::DbError,
    lock::{DatabaseLock, unusable},
    private_files::{COMPANIONS, create_folder_of, create_new, with_suffix},
    timeouts::{COMMAND_TIMEOUT, with_timeout},
    url::DatabaseUrl,
};

impl Database {
    /// Writes a consistent copy of the current state while readers and writers continue. Fails if `file` exists.
    pub async fn back_up(&self, file: &Path) -> Result<(), DbError> {
        let pool = self.sqlite_readers().ok_or(DbError::NotEmbedded)?;
        let path = file.to_str().ok_or_else(|| DbError::BadPath { path: file.display().to_string() })?;
        create_folder_of(file)?;
        // SQLite writes into an empty file and keeps its mode.
        create_new(file).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => DbError::FileExists { path: path.to_owned() },
            _ => unusable(file, source),
        })?;
        let written = copy_to(pool, path).await;
        if written.is_err() {
            // Frees the file name for another attempt.
            let _ = tokio::fs::remove_file(file).await;
        }
        written
    }
}

/// Writes a copy on a separate connection. The readers' connections are `query_only`, which forbids writing other files
/// too, and the writer's connection must stay free for writes.
async fn copy_to(pool: &SqlitePool, path: &str) -> Result<(), DbError> {
    let options = pool.connect_options().as_ref().clone().pragma("query_only", "OFF");
    let mut connection = options.connect().await?;
    let copied = with_timeout(COMMAND_TIMEOUT, sqlx::query("VACUUM INTO ?").bind(path).execute(&mut connection)).await;
    connection.close().await?;
    copied?;
    Ok(())
}

/// Replaces the database at `url` with the backup `copy`. Returns the path under which the replaced database is kept,
/// if there was one. Fails with `InUse` if a server uses the database. First opens and migrates the backup, so a backup
/// of another program or of a later version is refused.
pub async fn restore(url: &DatabaseUrl, copy: &Path) -> Result<Option<PathBuf>, DbError> {
    let file = url.file().ok_or(DbError::NotEmbedded)?;
    let had_data = file.metadata().is_ok_and(|file| file.len() > 0);
    let _lock = DatabaseLock::take(url).await?;
    let file = file.canonicalize().map_err(|source| unusable(file, source))?;
    let incoming = with_suffix(&file, ".restoring");
    copy_to_private(copy, &incoming).await.map_err(|source| unusable(copy, source))?;
    let checked = check(&incoming).await;
    if let Err(error) = checked {
        // Removing the unfinished copy may fail too; the caller needs the first error.
        let _ = tokio::fs::remove_file(&incoming).await;
        return Err(error);
    }
    let kept = with_suffix(&file, &format!(".before-{}", chrono::Utc::now().format("%Y%m%d-%H%M%S")));
    for end in [""].iter().chain(&COMPANIONS) {
        let (from, to) = (with_suffix(&file, end), with_suffix(&kept, end));
        match tokio::fs::rename(&from, &to).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&from, error)),
            _ => {}
        }
    }
    tokio::fs::rename(&incoming, &file).await.map_err(|source| unusable(&file, source))?;
    Ok(had_data.then_some(kept))
}

/// Copies a file to `to` with mode 0600. Replaces a file that an earlier attempt left there.
async fn copy_to_private(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = tokio::fs::File::open(from).await?;
    match tokio::fs::remove_file(to).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut target = tokio::fs::File::from_std(create_new(to)?);
    tokio::io::copy(&mut source, &mut target).await?;
    target.sync_all().await
}

/// Opens, migrates and closes a database file. After closing, SQLite has removed its `-wal` and `-shm` files.
async fn check(file: &Path) -> Result<(), DbError> {
    let at = || file.display().to_string();
    let url: DatabaseUrl =
        format!("sqlite://{}", file.to_str().ok_or_else(|| DbError::BadPath { path: at() })?).parse()?;
    if file.metadata().is_ok_and(|file| file.len() == 0) {
        return Err(DbError::NotADatabase { path: at() });
    }
    let db = Database::connect(&url).await?;
    db.close().await;
    Ok(())
}
