//! Limits on uploads and stored content.

use std::time::Duration;

/// Default of the setting `MAX_FILE_BYTES`: the maximum size of a file, in bytes.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// Default of the setting `MAX_FILES_PER_USER_BYTES`: the maximum size of all files of a user, in bytes.
pub const DEFAULT_MAX_USER_BYTES: u64 = 1024 * 1024 * 1024;

/// Size of a part of the content in the database, in bytes. A statement with one part fits into any database's
/// `max_allowed_packet`.
pub(crate) const CHUNK_BYTES: usize = 512 * 1024;

/// Size of a part of a multipart upload to S3, in bytes, which has a minimum of 5 MiB.
pub(crate) const OBJECT_PART_BYTES: usize = 5 * 1024 * 1024;

/// Size of a part of an object that one request reads, in bytes. Each reader has one part in memory.
pub(crate) const OBJECT_READ_BYTES: u64 = 1024 * 1024;

/// Maximum length of a file name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 200;

/// Maximum number of concurrent uploads in this process, of which one user has at most half. Each has a temporary file.
/// Further uploads wait.
pub(crate) const MAX_UPLOADS: usize = 32;

/// Maximum time for which an upload waits until it may begin.
pub(crate) const UPLOAD_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of an image that is read into memory, in bytes. Images for models are smaller.
pub(crate) const MAX_IMAGE_BYTES: i64 = 20 * 1024 * 1024;

/// Maximum number of pages of text that one query reads.
pub(crate) const PAGES_PER_READ: i32 = 32;

/// Maximum number of a user's files that the operator's list has.
pub(crate) const LISTED_FILES: u32 = 1000;

/// Age at which content and files that nothing refers to are purged, in hours.
pub(crate) const UNUSED_HOURS: i64 = 24;

/// Interval between two searches for content and files to purge.
pub(crate) const PURGE_INTERVAL: Duration = Duration::from_mins(10);

/// Maximum number of rows that one step of a purge finds.
pub(crate) const PURGED_AT_ONCE: u32 = 100;
