//! Errors of the use cases of files.

use std::io;

use tallybook_database::{TransactionError, storage_failed};
use tallybook_documents::ProcessError;

/// An error of a use case. The messages are written for users and API clients.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The file does not exist, or belongs to another user.
    #[error("There is no such file. It may have been deleted.")]
    NotFound,
    /// The file has no such page of text.
    #[error("The file has no such page of text. GET /api/files/{{id}}/text?page=1 says how many pages it has.")]
    NoSuchPage,
    /// A message or a tool call refers to the file.
    #[error("A message contains this file, so it cannot be deleted alone. Delete the conversation instead.")]
    InUse,
    /// The file is larger than the operator allows.
    #[error("The file is too large. A file can have at most {max_bytes} bytes (MAX_FILE_BYTES).")]
    TooLarge {
        /// Maximum size of a file, in bytes.
        max_bytes: u64,
    },
    /// The user's files together are larger than the operator allows.
    #[error(
        "Your files would take more than {max_bytes} bytes (MAX_FILES_PER_USER_BYTES). Delete files or conversations \
         with files first; deleted conversations count until they are purged."
    )]
    QuotaReached {
        /// Maximum size of a user's files, in bytes.
        max_bytes: u64,
    },
    /// The content is not of a kind that is accepted.
    #[error("This kind of file is not accepted: {0}.")]
    UnsupportedType(String),
    /// The content is damaged, protected or too complex.
    #[error("The file cannot be read: {0}.")]
    Unreadable(String),
    /// The maximum number of uploads is running.
    #[error("The server is receiving too many files. Try again in a moment.")]
    Busy,
    /// The process that reads files cannot be started.
    #[error("The server cannot read files at the moment. Try again later, or ask the administrator to check its log.")]
    Processor(#[source] ProcessError),
    /// A temporary file cannot be written or read.
    #[error("The server cannot save the file: its disk for temporary files is full or not writable.")]
    Temporary(#[source] io::Error),
    /// The store in `FILES_URL` failed.
    #[error("The storage for files is unreachable. Try again in a moment.")]
    Objects(#[source] object_store::Error),
    /// The disk of the folder in `FILES_URL` is full.
    #[error("The server's storage for files is full. Ask an admin to free space.")]
    StoreFull(#[source] object_store::Error),
    /// The content is in a folder or a bucket, but `FILES_URL` is not set.
    #[error("The content of files is not in the database. Set FILES_URL as for the server, and start again.")]
    StoreUnknown,
    /// Stored content is missing or damaged.
    #[error("The content of this file is damaged. Ask the administrator to run `tallybook admin check`.")]
    Damaged,
    /// The database failed.
    #[error("{}", storage_failed(.0))]
    Storage(#[from] sqlx::Error),
}

impl TransactionError for FilesError {
    fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_rolled_back())
    }
}
