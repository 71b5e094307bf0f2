//! Locks an embedded database for one process. The lock's holder can rely on it that any turn marked as running was
//! left by an earlier process.
//!
//! The lock consists of two files beside the database. One is named after the database's path with symbolic links
//! resolved. The other is named after the database's inode, since the database may be renamed while it is used. A
//! database with several hard links is refused. The lock does not work in three cases: if the file is mounted twice, if
//! it is moved to another folder while it is used, and on network file systems without locks across machines.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tokio::time::{Instant, sleep};

use crate::{
    error::DbError,
    private_files::{create_folder_of, open_or_create},
    time::{LOCK_TIMEOUT, RETRY_INTERVAL},
    url::DatabaseUrl,
};

/// Exclusive use of an embedded database, until this is dropped or the process ends.
#[derive(Debug)]
pub struct DatabaseLock(#[expect(dead_code, reason = "held for its Drop")] Vec<File>);

impl DatabaseLock {
    /// Locks the database at `url`. Waits at most 5 seconds for a process that is shutting down, then fails with
    /// `InUse`. Returns `None` for a MySQL database and for a database in memory.
    pub async fn take(url: &DatabaseUrl) -> Result<Option<Self>, DbError> {
        let Some(file) = url.file() else { return Ok(None) };
        create_folder_of(file)?;
        let database = real_path(file).map_err(|source| unusable(file, source))?;
        // A lock on the database file itself would interfere with SQLite's own.
        let mut path = database.clone().into_os_string();
        path.push(".lock");
        let mut locks = vec![lock_file(Path::new(&path), &database).await?];
        // Must follow the wait, during which a hard link may have been created.
        refuse_hard_links(&database)?;
        if let Some(path) = path_by_identity(&database)? {
            locks.push(lock_file(&path, &database).await?);
        }
        Ok(Some(Self(locks)))
    }
}

/// Returns the path with symbolic links resolved. Creates a missing file empty, as SQLite does.
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

/// Returns the path of the lock file that is named after the inode, which renaming the database does not change.
/// Without it, a second process could open the database under its new name. SQLite finds its journal by name, so that
/// process would miss earlier writes and damage the data.
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

/// Returns the error for a file that cannot be created, read or locked.
pub(crate) fn unusable(path: &Path, source: io::Error) -> DbError {
    DbError::Lock { path: path.display().to_string(), source }
}
