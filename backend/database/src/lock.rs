//! Locks an embedded database for one process. Its holder knows that turns found running were left by an earlier process.
//!
//! The lock is two files beside the database: one named after the database's path with symbolic links resolved, and one named after its
//! inode, since the database may be renamed while it is used. A database with hard links is refused. Three cases go unnoticed: a file
//! that is mounted twice, one that is moved to another folder while it is used, and network file systems without locks across machines.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tokio::time::{Instant, sleep};

use crate::{
    error::DbError,
    private_files::{create_folder_of, open_or_create},
    timeouts::{LOCK_TIMEOUT, RETRY_INTERVAL},
    url::DatabaseUrl,
};

/// Exclusive use of an embedded database, until this is dropped or the process ends.
#[derive(Debug)]
pub struct DatabaseLock(#[expect(dead_code, reason = "held for its Drop")] Vec<File>);

impl DatabaseLock {
    /// Locks the database at `url`, after waiting for a process that is ending. Returns `None` for a server's database and for one in
    /// memory.
    pub async fn take(url: &DatabaseUrl) -> Result<Option<Self>, DbError> {
        let Some(file) = url.file() else { return Ok(None) };
        create_folder_of(file)?;
        let database = real_path(file).map_err(|source| unusable(file, source))?;
        // A lock on the database file itself would interfere with SQLite's own.
        let mut path = database.clone().into_os_string();
        path.push(".lock");
        let mut locks = vec![lock_file(Path::new(&path), &database).await?];
        // Checked after the wait, during which a hard link may have been created.
        refuse_hard_links(&database)?;
        if let Some(path) = path_by_identity(&database)? {
            locks.push(lock_file(&path, &database).await?);
        }
        Ok(Some(Self(locks)))
    }
}

/// Returns the path with links resolved. A missing file is created empty, as SQLite does.
fn real_path(file: &Path) -> io::Result<PathBuf> {
    match file.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            open_or_create(file)?;
            file.canonicalize()
        }
        outcome => outcome,
    }
}

async fn lock_file(path: &Path, database: &Path) -> Result<File, DbError> {
    let file = open_or_create(path).map_err(|source| unusable(path, source))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(RETRY_INTERVAL).await,
            Err(TryLockError::WouldBlock) => return Err(DbError::InUse { path: database.display().to_string() }),
            Err(TryLockError::Error(source)) => return Err(unusable(path, source)),
        }
    }
}

#[cfg(unix)]
fn refuse_hard_links(database: &Path) -> Result<(), DbError> {
    use std::os::unix::fs::MetadataExt;

    match database.metadata().map_err(|source| unusable(database, source))?.nlink() {
        0 | 1 => Ok(()),
        links => Err(DbError::HardLinks { path: database.display().to_string(), links }),
    }
}

#[cfg(not(unix))]
fn refuse_hard_links(_: &Path) -> Result<(), DbError> {
    Ok(())
}

/// Returns the path of the lock that survives renaming the database. SQLite finds its journal by name, so a second process under another
/// name would miss earlier writes and damage the data.
#[cfg(unix)]
fn path_by_identity(database: &Path) -> Result<Option<PathBuf>, DbError> {
    use std::os::unix::fs::MetadataExt;

    let file = database.metadata().map_err(|source| unusable(database, source))?;
    Ok(Some(database.with_file_name(format!(".tallybook-{}-{}.lock", file.dev(), file.ino()))))
}

#[cfg(not(unix))]
fn path_by_identity(_: &Path) -> Result<Option<PathBuf>, DbError> {
    Ok(None)
}

/// Returns the error of a file that cannot be created, read or locked.
pub(crate) fn unusable(path: &Path, source: io::Error) -> DbError {
    DbError::Lock { path: path.display().to_string(), source }
}
