//! Files that users attach to messages and that tools return: uploads, content, text, quotas and purging. Independent
//! of HTTP. By subject:
//! - `service` has the use cases, and `upload` receives content. The crate `documents` recognizes and converts it.
//! - `content` stores content once per SHA-256 hash, in the database or in the store of `objects`, and reads it.
//! - `purge` deletes what nothing refers to, `erasure` what belongs to one user, `check` verifies hashes, and
//!   `overview` has the totals for the operator.
//! - `names` cleans file names, `settings` has the operator's settings, `metrics` the counts, and `store` the SQL.
//!
//! Which messages and tool calls refer to a file is in tables of the crate `conversations`; foreign keys keep a file as
//! long as one refers to it.

mod check;
mod content;
mod erasure;
mod error;
mod limits;
mod metrics;
mod names;
mod objects;
mod overview;
mod purge;
mod service;
mod settings;
mod store;
mod upload;

pub use content::{Content, ContentRange, ContentStream};
pub use error::FilesError;
pub use limits::{DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_USER_BYTES};
pub use metrics::FileCounts;
pub use overview::Overview;
pub use service::{Files, Variant};
pub use settings::{BadStorageUrl, FilesSettings, StorageUrl};
pub use store::{
    files::{FileId, FileRow},
    overview::{FileLine, UserSize, UserTotal},
};
pub use upload::Upload;
