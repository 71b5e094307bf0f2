//! Files and folders that only the server's own user may read: mode 0600 and 0700. Systems other than Unix have no such
//! modes; there, files inherit their folder's permissions.

use std::{
    fs::{DirBuilder, File},
    io,
    path::{Path, PathBuf},
};

use crate::error::DbError;

/// The mode bits of the group and of all other users.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Suffixes of the files that SQLite keeps beside a database. SQLite creates them with the mode of the database.
pub(crate) const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Opens a file to write to it; a missing file is created with mode 0600. Does not truncate.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    private(File::options().create(true).truncate(false).write(true)).open(path)
}

/// Creates a file with mode 0600, and fails if the path exists.
pub fn create_new(path: &Path) -> io::Result<File> {
    private(File::options().create_new(true).write(true)).open(path)
}

/// Creates the folder of a file, and that folder's missing parents, with mode 0700. Leaves existing folders alone.
pub(crate) fn create_folder_of(file: &Path) -> Result<(), DbError> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let created = private_folder(DirBuilder::new().recursive(true)).create(folder);
    created.map_err(|source| DbError::Folder { folder: folder.display().to_string(), source })
}

/// Creates a missing database file with mode 0600. Removes the permissions of group and others from files that earlier
/// versions or another program created. A file that belongs to another user keeps its mode; that is logged as a
/// warning.
pub(crate) fn make_private(database: &Path) -> io::Result<()> {
    if !database.try_exists()? {
        drop(open_or_create(database)?);
    }
    for file in files_of(database) {
        if !is_exposed(&file) {
            continue;
        }
        match tighten(&file) {
            Ok(()) => {
                tracing::info!(
                    file = %file.display(),
                    "changed the file's mode so that other users of this machine cannot read it"
                );
            }
            Err(error) => {
                tracing::warn!(
                    file = %file.display(),
                    %error,
                    "other users of this machine can read the file; cannot change its mode"
                );
            }
        }
    }
    Ok(())
}

/// Returns the files of a database that other users of this machine may read or write.
pub(crate) fn exposed_files(database: &Path) -> Vec<PathBuf> {
    files_of(database).into_iter().filter(|file| is_exposed(file)).collect()
}

fn files_of(database: &Path) -> Vec<PathBuf> {
    std::iter::once(database.to_owned()).chain(COMPANIONS.map(|end| with_suffix(database, end))).collect()
}

/// Returns the path of `file` with a suffix appended to its name.
pub(crate) fn with_suffix(file: &Path, end: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(end);
    path.into()
}

#[cfg(unix)]
fn private(options: &mut std::fs::OpenOptions) -> &std::fs::OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut std::fs::OpenOptions) -> &std::fs::OpenOptions {
    options
}

#[cfg(unix)]
fn private_folder(builder: &mut DirBuilder) -> &DirBuilder {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700)
}

#[cfg(not(unix))]
fn private_folder(builder: &mut DirBuilder) -> &DirBuilder {
    builder
}

#[cfg(unix)]
fn is_exposed(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & OTHERS != 0)
}

#[cfg(not(unix))]
fn is_exposed(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn tighten(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mut permissions = file.metadata()?.permissions();
    permissions.set_mode(permissions.mode() & !OTHERS);
    std::fs::set_permissions(file, permissions)
}

#[cfg(not(unix))]
fn tighten(_: &Path) -> io::Result<()> {
    Ok(())
}
