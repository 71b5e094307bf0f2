//! The operator's settings for files.

use std::{fmt, path::PathBuf, str::FromStr};

use url::Url;

use crate::limits::{DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_USER_BYTES};

/// The operator's settings for files.
#[derive(Clone, Debug)]
pub struct FilesSettings {
    /// Maximum size of a file, in bytes.
    pub max_file_bytes: u64,
    /// Maximum size of all files of a user, in bytes; 0 for no limit.
    pub max_user_bytes: u64,
    /// Place of the content.
    pub storage: StorageUrl,
    /// Path of the program that has the hidden subcommand `process-file`.
    pub program: PathBuf,
}

impl FilesSettings {
    /// Creates the default settings, with the content in the database.
    pub fn with_program(program: PathBuf) -> Self {
        Self {
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            max_user_bytes: DEFAULT_MAX_USER_BYTES,
            storage: StorageUrl::Database,
            program,
        }
    }
}

/// Place of the content of files: the value of `FILES_URL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StorageUrl {
    /// The database.
    #[default]
    Database,
    /// A folder that all servers share, by its absolute path.
    Folder(PathBuf),
    /// A bucket of an S3-compatible store, and a prefix in it. The environment has the credentials.
    S3 {
        /// URL with bucket and prefix.
        url: Url,
    },
}

/// `FILES_URL` is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be database, file:///FOLDER or s3://BUCKET/PREFIX, without a user name, password or query")]
pub struct BadStorageUrl;

impl FromStr for StorageUrl {
    type Err = BadStorageUrl;

    fn from_str(text: &str) -> Result<Self, BadStorageUrl> {
        if text == "database" {
            return Ok(Self::Database);
        }
        let url = Url::parse(text).map_err(|_| BadStorageUrl)?;
        let is_plain =
            url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
        match url.scheme() {
            "file" if is_plain => {
                let folder = url.to_file_path().map_err(|()| BadStorageUrl)?;
                if folder.parent().is_none() { Err(BadStorageUrl) } else { Ok(Self::Folder(folder)) }
            }
            "s3" if is_plain && url.host_str().is_some_and(|bucket| !bucket.is_empty()) => Ok(Self::S3 { url }),
            _ => Err(BadStorageUrl),
        }
    }
}

impl fmt::Display for StorageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str("database"),
            Self::Folder(folder) => write!(f, "folder {}", folder.display()),
            Self::S3 { url } => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StorageUrl;

    #[test]
    fn files_are_in_the_database_a_folder_or_a_bucket() {
        for url in ["database", "file:///var/lib/tallybook/files", "s3://bucket", "s3://bucket/pre/fix"] {
            assert!(url.parse::<StorageUrl>().is_ok(), "{url}");
        }
        for url in [
            "",
            "files",
            "file://host/folder",
            "file:///",
            "s3:///x",
            "s3://key:secret@bucket/x",
            "s3://b?x=1",
            "ftp://x/y",
        ] {
            assert!(url.parse::<StorageUrl>().is_err(), "{url}");
        }
    }
}
