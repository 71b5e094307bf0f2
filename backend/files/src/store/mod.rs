//! SQL of files: `blobs` and `blob_chunks` (content), `files`, and `file_texts`.

pub(crate) mod blobs;
pub(crate) mod files;
pub(crate) mod overview;
pub(crate) mod texts;

use sqlx::error::DatabaseError;

/// Maximum number of IDs or hashes per statement; more take several statements.
const MAX_KEYS_PER_STATEMENT: usize = 200;

/// Returns `true` if the error is a violation of a foreign key: another row refers to the row, or the row that it
/// refers to is missing.
pub(crate) fn is_referred_to(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_foreign_key_violation)
}
