//! Stores for the content of files outside the database: a folder, and an S3-compatible bucket.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use tempfile::TempDir;

use super::Bucket;

/// Prefix of the objects in the bucket.
const PREFIX: &str = "tallybook/";

/// A store that `FILES_URL` can name. The keys of its objects are as in `blobs.storage`.
pub(crate) enum FileStore {
    Folder(TempDir),
    Bucket(Bucket),
}

impl FileStore {
    pub(crate) fn folder() -> Self {
        Self::Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn bucket() -> Self {
        Self::Bucket(Bucket::start())
    }

    /// Returns the environment variables with which the program stores files here.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Folder(folder) => vec![("FILES_URL", format!("file://{}", folder.path().display()))],
            Self::Bucket(bucket) => bucket.variables().map(|(name, value)| (name, value.to_owned())).into(),
        }
    }

    /// Returns the place as a backup names it.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Folder(folder) => format!("folder {}", folder.path().display()),
            Self::Bucket(_) => "s3://bucket/tallybook".to_owned(),
        }
    }

    /// Returns the keys of all objects, in order. A folder also has the files of unfinished uploads.
    pub(crate) fn keys(&self) -> Vec<String> {
        match self {
            Self::Folder(folder) => {
                let mut keys = Vec::new();
                collect_files(folder.path(), folder.path(), &mut keys);
                keys.sort();
                keys
            }
            Self::Bucket(bucket) => {
                let keys = bucket.keys();
                keys.iter()
                    .map(|key| key.strip_prefix(PREFIX).expect("an object below the prefix").to_owned())
                    .collect()
            }
        }
    }

    /// Writes an object that appears to be this old.
    pub(crate) fn write(&self, key: &str, content: &[u8], age: Duration) {
        match self {
            Self::Folder(folder) => {
                let path = folder.path().join(key);
                fs::write(&path, content).expect("the folder is writable");
                let file = fs::File::options().write(true).open(&path).expect("the file is there");
                file.set_modified(SystemTime::now() - age).expect("the file is this process's own");
            }
            Self::Bucket(bucket) => bucket.write(&format!("{PREFIX}{key}"), content, age),
        }
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, key: &str) {
        match self {
            Self::Folder(folder) => fs::remove_file(folder.path().join(key)).expect("the file is there"),
            Self::Bucket(bucket) => bucket.delete(&format!("{PREFIX}{key}")),
        }
    }
}

/// Collects the paths of all files below a folder, relative to `root`. The program deletes empty folders meanwhile.
fn collect_files(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            collect_files(root, &path, found);
        } else {
            let key = path.strip_prefix(root).expect("a path below the folder");
            found.push(key.to_str().expect("in UTF-8").to_owned());
        }
    }
}
