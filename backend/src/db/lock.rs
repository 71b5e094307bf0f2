//! The lock that keeps an embedded database to one process: the one that holds it may take for abandoned whatever it
//! finds running.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use sqlx::sqlite::SqliteConnectOptions;
use tokio::time::{Instant, sleep};

use super::{DbError, limits::WAIT};

const TRY_EVERY: Duration = Duration::from_millis(50);

/// An embedded database kept to this process until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct DatabaseLock(#[expect(dead_code, reason = "held for its Drop")] File);

impl DatabaseLock {
    /// Takes the database that `url` names for this process. A predecessor that is just ending is waited for. `None` for
    /// a database that many processes share.
    pub async fn take(url: &str) -> Result<Option<Self>, DbError> {
        if !url.starts_with("sqlite:") {
            return Ok(None);
        }
        let options = SqliteConnectOptions::from_str(url).map_err(DbError::BadUrl)?;
        let database = options.get_filename();
        // A lock on the database itself would be in SQLite's way.
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        super::create_folder_of(&path).await?;
        let unusable = |source| DbError::Lock { path: path.display().to_string(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable)?;
        let patience = Instant::now() + WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < patience => sleep(TRY_EVERY).await,
                Err(TryLockError::WouldBlock) => return Err(in_use(database)),
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
            }
        }
    }
}

fn in_use(database: &Path) -> DbError {
    DbError::InUse { path: database.display().to_string() }
}
