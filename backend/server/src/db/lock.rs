//! The lock by which only one process at a time uses an embedded database. So whatever its holder finds running was
//! abandoned by an earlier process. It is a file beside the database, named after the database's own name, whichever
//! symbolic links lead to it, and another one named after the file itself, which may get another name while it is used; a
//! database with hard links is refused. Three cases go unnoticed: a file that is mounted at two places, one that is moved to
//! another folder while it is used, and network file systems that do not pass locks on to other machines.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tokio::time::{Instant, sleep};

use super::{
    error::DbError,
    private_files::{create_folder_of, open_or_create},
    timeouts::{LOCK_TIMEOUT, RETRY_INTERVAL},
    url::DatabaseUrl,
};

/// An embedded database kept to this process until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct DatabaseLock(#[expect(dead_code, reason = "held for its Drop")] Vec<File>);

impl DatabaseLock {
    /// Takes the database that `url` names for this process. A predecessor that is just ending is waited for. `None` for
    /// a database that many processes share, and for one in memory.
    pub async fn take(url: &DatabaseUrl) -> Result<Option<Self>, DbError> {
        let Some(file) = url.file() else { return Ok(None) };
        create_folder_of(file)?;
        let database = real_path(file).map_err(|source| unusable(file, source))?;
        // A lock on the database file itself would interfere with SQLite's own.
        let mut path = database.clone().into_os_string();
        path.push(".lock");
        let mut locks = vec![lock_file(Path::new(&path), &database).await?];
        // Only now: another name may have been given to the file while a predecessor was waited for.
        refuse_hard_links(&database)?;
        if let Some(path) = path_by_identity(&database)? {
            locks.push(lock_file(&path, &database).await?);
        }
        Ok(Some(Self(locks)))
    }
}

/// The one path that all links lead to. A file that is missing is made, empty, which is how SQLite itself begins.
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

/// The lock that stays the same when the database is renamed. SQLite finds its journal by the name, so that a second process
/// would miss what the first has written, and tear the data.
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

/// A file that cannot be made, read or locked.
pub(super) fn unusable(path: &Path, source: io::Error) -> DbError {
    DbError::Lock { path: path.display().to_string(), source }
}
