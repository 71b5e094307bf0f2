//! Backs up an embedded database while it is used, and restores a backup. MySQL servers have their own tools.

use std::{
    io,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use tokio::fs::File;

use crate::{
    database::Database,
    error::DbError,
    lock::{DatabaseLock, unusable},
    open::check_before_use,
    private_files::{COMPANIONS, create_folder_of, create_new, with_suffix},
    time::{COMMAND_TIMEOUT, LOCK_TIMEOUT, with_timeout},
    url::DatabaseUrl,
};

/// Writes a consistent copy of the database at `url` while readers and writers continue. Does not migrate or otherwise
/// change the database. Fails if `file` exists, and if the database belongs to another program or a later version.
pub async fn back_up(url: &DatabaseUrl, file: &Path) -> Result<(), DbError> {
    let (DatabaseUrl::Sqlite(options), Some(database)) = (url, url.file()) else { return Err(DbError::NotEmbedded) };
    let path = file.to_str().ok_or_else(|| DbError::BadPath { path: file.display().to_string() })?;
    check_before_use(database, options).await?;
    create_folder_of(file)?;
    // SQLite writes into an empty file and keeps its mode.
    create_new(file).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => DbError::FileExists { path: path.to_owned() },
        _ => unusable(file, source),
    })?;
    let written = copy_to(options, path).await;
    if written.is_err() {
        // Frees the file name for another attempt.
        let _ = tokio::fs::remove_file(file).await;
    }
    written.map_err(|source| DbError::NotBackedUp { path: path.to_owned(), source })
}

async fn copy_to(options: &SqliteConnectOptions, path: &str) -> sqlx::Result<()> {
    let mut connection = options.clone().create_if_missing(false).busy_timeout(LOCK_TIMEOUT).connect().await?;
    let copied = with_timeout(COMMAND_TIMEOUT, sqlx::query("VACUUM INTO ?").bind(path).execute(&mut connection)).await;
    connection.close().await?;
    copied.map(|_| ())
}

/// Replaces the database at `url` with the backup `copy`. Returns the path under which the replaced database is kept,
/// if there was one. Fails with `InUse` if a server uses the database. First checks and migrates a copy of the backup,
/// so a damaged backup, and one of another program or of a later version, is refused. If it fails, the database is as
/// before.
pub async fn restore(url: &DatabaseUrl, copy: &Path) -> Result<Option<PathBuf>, DbError> {
    let file = url.file().ok_or(DbError::NotEmbedded)?;
    let at = || copy.display().to_string();
    // Comes before the lock, which creates a missing database.
    let source = File::open(copy).await.map_err(|source| DbError::BackupUnreadable { path: at(), source })?;
    if same_file(file, copy) {
        return Err(DbError::BackupOfItself { path: at() });
    }
    let had_data = file.metadata().is_ok_and(|file| file.len() > 0);
    let _lock = DatabaseLock::take(url).await?;
    let file = file.canonicalize().map_err(|source| unusable(file, source))?;
    let incoming = with_suffix(&file, ".restoring");
    let checked = async {
        copy_to_private(source, copy, &incoming).await?;
        check(copy, &incoming).await
    };
    if let Err(error) = checked.await {
        // Removing the unfinished copy may fail too; the caller needs the first error.
        for end in [""].iter().chain(&COMPANIONS) {
            let _ = tokio::fs::remove_file(with_suffix(&incoming, end)).await;
        }
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

fn same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Copies a file to `to` with mode 0600. Replaces a file that an earlier attempt left there. Also copies the journal
/// beside the file, if there is one: it may contain the newest commits.
async fn copy_to_private(source: File, from: &Path, to: &Path) -> Result<(), DbError> {
    copy_one(source, from, to).await?;
    match File::open(with_suffix(from, COMPANIONS[0])).await {
        Ok(journal) => copy_one(journal, from, &with_suffix(to, COMPANIONS[0])).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(DbError::BackupUnreadable { path: from.display().to_string(), source }),
    }
}

async fn copy_one(mut source: File, from: &Path, to: &Path) -> Result<(), DbError> {
    match tokio::fs::remove_file(to).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(to, error)),
        _ => {}
    }
    let mut target = File::from_std(create_new(to).map_err(|source| unusable(to, source))?);
    match tokio::io::copy(&mut source, &mut target).await {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(unusable(to, error)),
        Err(source) => Err(DbError::BackupUnreadable { path: from.display().to_string(), source }),
        Ok(_) => target.sync_all().await.map_err(|source| unusable(to, source)),
    }
}

/// Checks, migrates and closes `incoming`, the copy of the backup `copy`. After closing, SQLite has removed its `-wal`
/// and `-shm` files.
async fn check(copy: &Path, incoming: &Path) -> Result<(), DbError> {
    let path = || copy.display().to_string();
    let name = incoming.to_str().ok_or_else(|| DbError::BadPath { path: incoming.display().to_string() })?;
    let url: DatabaseUrl = format!("sqlite://{name}").parse()?;
    let DatabaseUrl::Sqlite(options) = &url else { return Err(DbError::NotEmbedded) };
    let damaged = |problem: String| DbError::BackupDamaged { path: path(), problem };
    let other = |problem: &str| DbError::NotABackup { path: path(), problem: problem.to_owned() };
    let refused = |error| match error {
        DbError::NotADatabase { .. } => other("is not an SQLite database"),
        DbError::ForeignTables { tables } => other(&format!("belongs to another program, and contains {tables}")),
        DbError::Migrate { source } if is_damage(&source) => damaged(source.to_string()),
        error => DbError::NotRestored { path: path(), source: Box::new(error) },
    };
    if incoming.metadata().is_ok_and(|file| file.len() == 0) {
        return Err(other("is empty"));
    }
    if !check_before_use(incoming, options).await.map_err(refused)? {
        return Err(other("has no tables"));
    }
    if let Some(problem) = find_damage(options).await? {
        return Err(damaged(problem));
    }
    let db = Database::connect(&url).await.map_err(refused)?;
    db.close().await;
    Ok(())
}

/// Returns the first damage to a file; `None` if there is none.
async fn find_damage(options: &SqliteConnectOptions) -> sqlx::Result<Option<String>> {
    let mut connection = options.connect().await?;
    let check = sqlx::query_scalar("SELECT integrity_check FROM pragma_integrity_check LIMIT 1");
    let found: sqlx::Result<String> = with_timeout(COMMAND_TIMEOUT, check.fetch_one(&mut connection)).await;
    connection.close().await?;
    match found {
        Ok(line) if line == "ok" => Ok(None),
        // The first line only names the table.
        Ok(line) => Ok(Some(line.lines().collect::<Vec<_>>().join(" "))),
        Err(error) if is_damage(&error) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Returns `true` for `SQLITE_CORRUPT`, with any extension.
fn is_damage(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 11)
}
