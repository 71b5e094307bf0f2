//! SQL of the operator's overview of files.

use chrono::{DateTime, Utc};
use tallybook_database::{COMMAND_TIMEOUT, Database, LONG_STATEMENT_TIMEOUT, select};

/// Totals of a user's files.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct UserTotal {
    /// Name of the user.
    pub name: String,
    /// Number of files that the user has not deleted.
    pub files: i64,
    /// Their size, in bytes.
    pub bytes: i64,
    /// Number of those that no message and no tool call refers to.
    pub unused: i64,
}

/// Number and size of a user's files.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct UserSize {
    /// Name of the user.
    pub name: String,
    /// Number of files that the user has not deleted.
    pub files: i64,
    /// Their size, in bytes.
    pub bytes: i64,
}

/// A file in a list.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct FileLine {
    /// ID in the API.
    pub uuid: String,
    /// Name of the file.
    pub name: String,
    /// Media type of the content.
    pub media_type: String,
    /// Size of the content, in bytes.
    pub bytes: i64,
    /// Time of the upload.
    pub created_at: DateTime<Utc>,
    /// Number of messages and tool calls that refer to the file.
    pub uses: i64,
}

/// Lists the totals of users with files, ordered by name.
pub(crate) async fn list_totals(db: &Database) -> sqlx::Result<Vec<UserTotal>> {
    db.reader()
        .query(select!(
            "SELECT u.name, COUNT(*) AS files, CAST(SUM(f.bytes) AS SIGNED) AS bytes, \
             CAST(SUM(CASE WHEN EXISTS (SELECT 1 FROM message_files m WHERE m.file_id = f.id) \
             OR EXISTS (SELECT 1 FROM tool_call_files t WHERE t.file_id = f.id) THEN 0 ELSE 1 END) AS SIGNED) AS unused \
             FROM files f JOIN users u ON u.id = f.user_id WHERE f.deleted_at IS NULL GROUP BY u.id, u.name \
             ORDER BY u.name"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .fetch_all()
        .await
}

/// Lists number and size of the files of at most `limit` users, those with the most bytes first.
pub(crate) async fn list_sizes(db: &Database, limit: u32) -> sqlx::Result<Vec<UserSize>> {
    db.reader()
        .query(select!(
            "SELECT u.name, COUNT(*) AS files, CAST(SUM(f.bytes) AS SIGNED) AS bytes FROM files f \
             JOIN users u ON u.id = f.user_id WHERE f.deleted_at IS NULL GROUP BY u.id, u.name \
             ORDER BY bytes DESC, u.name LIMIT ?"
        ))
        .with_timeout(LONG_STATEMENT_TIMEOUT)
        .bind(limit)
        .fetch_all()
        .await
}

/// Lists the newest files of the user with this name.
pub(crate) async fn list_files(db: &Database, user: &str, limit: u32) -> sqlx::Result<Vec<FileLine>> {
    db.reader()
        .query(select!(
            "SELECT f.uuid, f.name, f.media_type, f.bytes, f.created_at, \
             (SELECT COUNT(*) FROM message_files m WHERE m.file_id = f.id) \
             + (SELECT COUNT(*) FROM tool_call_files t WHERE t.file_id = f.id) AS uses \
             FROM files f JOIN users u ON u.id = f.user_id WHERE u.name = ? AND f.deleted_at IS NULL \
             ORDER BY f.created_at DESC, f.id DESC LIMIT ?"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .bind(user)
        .bind(limit)
        .fetch_all()
        .await
}
