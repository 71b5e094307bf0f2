//! SQL of `files`: the files of users.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{FileInfo, FileKind, FileStatus, MessageFile};
use uuid::Uuid;

use crate::store::MAX_KEYS_PER_STATEMENT;

/// Row ID of a file. The API identifies files by UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
#[sqlx(transparent)]
pub struct FileId(pub i64);

/// A row of `files`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct FileRow {
    /// Row ID.
    pub id: FileId,
    /// ID of the file in the API.
    #[sqlx(try_from = "String")]
    pub uuid: Uuid,
    /// SHA-256 hash of the content, in hex.
    pub sha256: String,
    /// Name without a path.
    pub name: String,
    /// Kind, decided by the content.
    #[sqlx(try_from = "String")]
    pub kind: FileKind,
    /// Media type of the content.
    pub media_type: String,
    /// Size of the content, in bytes.
    pub bytes: i64,
    /// Width of an image, in pixels.
    pub width: Option<i32>,
    /// Height of an image, in pixels.
    pub height: Option<i32>,
    /// Number of pages of text.
    pub pages: Option<i32>,
    /// Size of the text of all pages, in bytes.
    pub text_bytes: i64,
    /// `true` if the file has more text than its pages.
    pub truncated: bool,
    /// Hash of the image as models receive it.
    pub model_sha256: Option<String>,
    /// Width of the image as models receive it, in pixels.
    pub model_width: Option<i32>,
    /// Height of the image as models receive it, in pixels.
    pub model_height: Option<i32>,
    /// Hash of the image as lists show it.
    pub thumb_sha256: Option<String>,
    /// State.
    #[sqlx(try_from = "String")]
    pub status: FileStatus,
    /// The reason why the file cannot be read.
    pub error: Option<String>,
}

impl FileRow {
    /// Returns the hashes of all forms of its content.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = &str> {
        [Some(&self.sha256), self.model_sha256.as_ref(), self.thumb_sha256.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Converts the row to its form in the API.
    pub fn into_info(self) -> FileInfo {
        FileInfo {
            id: self.uuid,
            name: self.name,
            media_type: self.media_type,
            bytes: self.bytes,
            sha256: self.sha256,
            kind: self.kind,
            width: self.width,
            height: self.height,
            pages: self.pages,
            truncated: self.truncated,
            status: self.status,
            error: self.error,
        }
    }

    /// Converts the row to a file of a message. `context` is the part that the model received.
    pub fn into_message_file(self, context: Option<String>) -> MessageFile {
        MessageFile {
            id: self.uuid,
            name: self.name,
            kind: self.kind,
            media_type: self.media_type,
            bytes: self.bytes,
            width: self.width,
            height: self.height,
            pages: self.pages,
            truncated: self.truncated,
            context,
        }
    }
}

/// A file that is about to be stored.
#[derive(Clone, Debug)]
pub(crate) struct NewFile {
    pub(crate) uuid: Uuid,
    pub(crate) user: UserId,
    pub(crate) sha256: String,
    pub(crate) name: String,
    pub(crate) kind: FileKind,
    pub(crate) media_type: String,
    pub(crate) bytes: i64,
    /// Width and height of an image.
    pub(crate) size: Option<(i32, i32)>,
    pub(crate) pages: Option<i32>,
    pub(crate) text_bytes: i64,
    pub(crate) truncated: bool,
    /// Hash, width and height of the image as models receive it.
    pub(crate) model: Option<(String, i32, i32)>,
    pub(crate) thumb_sha256: Option<String>,
}

impl NewFile {
    /// Returns the hashes of all forms of its content.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = &str> {
        let model = self.model.as_ref().map(|(sha256, ..)| sha256.as_str());
        [Some(self.sha256.as_str()), model, self.thumb_sha256.as_deref()].into_iter().flatten()
    }
}

/// Columns of a [`FileRow`], of `files f`.
#[macro_export]
macro_rules! file_columns {
    () => {
        "f.id, f.uuid, f.sha256, f.name, f.kind, f.media_type, f.bytes, f.width, f.height, f.pages, f.text_bytes, \
         f.truncated, f.model_sha256, f.model_width, f.model_height, f.thumb_sha256, f.status, f.error"
    };
}

/// Stores files.
pub(crate) async fn create(tx: &mut Transaction, new: &[NewFile]) -> sqlx::Result<()> {
    let now = now();
    tx.insert_rows(
        "INSERT INTO files (uuid, user_id, sha256, name, kind, media_type, bytes, width, height, pages, text_bytes, \
         truncated, model_sha256, model_width, model_height, thumb_sha256, status, created_at) VALUES ",
        new,
        |new| new.name.len(),
        |row, new| {
            let model = new.model.as_ref();
            row.push(new.uuid.to_string()).push(new.user).push(new.sha256.as_str()).push(new.name.as_str());
            row.push(new.kind.as_str()).push(new.media_type.as_str()).push(new.bytes);
            row.push(new.size.map(|(width, _)| width)).push(new.size.map(|(_, height)| height));
            row.push(new.pages).push(new.text_bytes).push(new.truncated);
            row.push(model.map(|(sha256, ..)| sha256.as_str()));
            row.push(model.map(|(_, width, _)| *width)).push(model.map(|(_, _, height)| *height));
            row.push(new.thumb_sha256.as_deref()).push("ready").push(now);
        },
    )
    .await
}

/// Returns those of `uuids` that are files of a user, unless the user has deleted them, as the transaction sees them.
pub(crate) async fn list_in(tx: &mut Transaction, user: UserId, uuids: &[Uuid]) -> sqlx::Result<Vec<FileRow>> {
    let mut rows = Vec::new();
    for uuids in uuids.chunks(MAX_KEYS_PER_STATEMENT) {
        let mut list = tx
            .query(concat!(
                "SELECT ",
                file_columns!(),
                " FROM files f WHERE f.user_id = ? AND f.deleted_at IS NULL AND f.uuid IN ("
            ))
            .bind(user);
        list.push_list(uuids.iter().map(Uuid::to_string)).push(")");
        rows.append(&mut list.fetch_all().await?);
    }
    Ok(rows)
}

/// Returns a user's files with these contents that are ready and not deleted, as the transaction sees them; the newest
/// ones last.
pub(crate) async fn list_same_in(tx: &mut Transaction, user: UserId, contents: &[&str]) -> sqlx::Result<Vec<FileRow>> {
    let mut rows = Vec::new();
    for contents in contents.chunks(MAX_KEYS_PER_STATEMENT) {
        let mut list = tx
            .query(concat!(
                "SELECT ",
                file_columns!(),
                " FROM files f WHERE f.user_id = ? AND f.status = 'ready' AND f.deleted_at IS NULL AND f.sha256 IN ("
            ))
            .bind(user);
        list.push_list(contents.iter().copied()).push(") ORDER BY f.id");
        rows.append(&mut list.fetch_all().await?);
    }
    Ok(rows)
}

/// Keeps files from being purged for a day. Returns `false` if one of them is deleted.
pub(crate) async fn touch_all(tx: &mut Transaction, ids: &[FileId]) -> sqlx::Result<bool> {
    let mut touched = 0;
    for ids in ids.chunks(MAX_KEYS_PER_STATEMENT) {
        let touch = "UPDATE files SET created_at = ? WHERE deleted_at IS NULL AND id IN (";
        let mut touch = tx.query(touch).bind(now());
        touch.push_list(ids.iter().copied()).push(")");
        touched += touch.execute().await?.rows;
    }
    Ok(touched == ids.len() as u64)
}

/// A row of `files` with its time.
#[derive(sqlx::FromRow)]
pub(crate) struct DatedRow {
    #[sqlx(flatten)]
    pub(crate) file: FileRow,
    pub(crate) created_at: DateTime<Utc>,
}

/// Lists at most `limit` of a user's files after the one with this UUID, except deleted ones. UUIDs rise with the time
/// of the upload.
pub(crate) async fn list_after(db: &Database, user: UserId, uuid: Uuid, limit: u32) -> sqlx::Result<Vec<DatedRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            file_columns!(),
            ", f.created_at FROM files f WHERE f.user_id = ? AND f.uuid > ? AND f.deleted_at IS NULL \
             ORDER BY f.uuid LIMIT ?"
        )))
        .bind(user)
        .bind(uuid.to_string())
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns a user's file, unless the user has deleted it.
pub(crate) async fn find(db: &Database, user: UserId, uuid: Uuid) -> sqlx::Result<Option<FileRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            file_columns!(),
            " FROM files f WHERE f.uuid = ? AND f.user_id = ? AND f.deleted_at IS NULL"
        )))
        .bind(uuid.to_string())
        .bind(user)
        .fetch_optional()
        .await
}

/// Returns the newest file of a user with this content and name, if it is ready and not deleted.
pub(crate) async fn find_same(db: &Database, user: UserId, sha256: &str, name: &str) -> sqlx::Result<Option<FileRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            file_columns!(),
            " FROM files f WHERE f.sha256 = ? AND f.user_id = ? AND f.name = ? AND f.status = 'ready' \
             AND f.deleted_at IS NULL ORDER BY f.id DESC LIMIT 1"
        )))
        .bind(sha256)
        .bind(user)
        .bind(name)
        .fetch_optional()
        .await
}

/// Keeps a file that nothing refers to from being purged for a day. Returns `false` if the file is deleted.
pub(crate) async fn touch(db: &Database, id: FileId) -> sqlx::Result<bool> {
    let touched = db
        .writer()
        .query("UPDATE files SET created_at = ? WHERE id = ? AND deleted_at IS NULL")
        .bind(now())
        .bind(id)
        .execute()
        .await?;
    Ok(touched.rows == 1)
}

/// Returns the size of a user's files, in bytes.
pub(crate) async fn sum_bytes(db: &Database, user: UserId) -> sqlx::Result<i64> {
    db.reader().query(select!(SUM_BYTES)).bind(user).fetch_value().await
}

/// Returns the size of a user's files as a transaction sees it, in bytes.
pub(crate) async fn sum_bytes_in(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    tx.query(SUM_BYTES).bind(user).fetch_value().await
}

/// Includes deleted files, whose content is stored until they are purged.
const SUM_BYTES: &str = "SELECT CAST(COALESCE(SUM(bytes), 0) AS SIGNED) FROM files WHERE user_id = ?";

/// Soft-deletes a file that no message and no tool call refers to. Returns `false` if the file is in use.
pub(crate) async fn soft_delete(db: &Database, id: FileId) -> sqlx::Result<bool> {
    let deleted = db
        .writer()
        .query(
            "UPDATE files SET deleted_at = COALESCE(deleted_at, ?) WHERE id = ? \
             AND id NOT IN (SELECT file_id FROM message_files WHERE file_id = ?) \
             AND id NOT IN (SELECT file_id FROM tool_call_files WHERE file_id = ?)",
        )
        .bind(now())
        .bind(id)
        .bind(id)
        .bind(id)
        .execute()
        .await?;
    Ok(deleted.rows == 1)
}

/// Lists at most `limit` files that no message and no tool call refers to: deleted ones, and those from before
/// `before`.
pub(crate) async fn list_unused(db: &Database, before: DateTime<Utc>, limit: u32) -> sqlx::Result<Vec<FileId>> {
    db.reader()
        .query(select!(
            "SELECT f.id FROM files f WHERE (f.created_at < ? OR f.deleted_at IS NOT NULL) \
             AND NOT EXISTS (SELECT 1 FROM message_files m WHERE m.file_id = f.id) \
             AND NOT EXISTS (SELECT 1 FROM tool_call_files t WHERE t.file_id = f.id) ORDER BY f.id LIMIT ?"
        ))
        .bind(before)
        .bind(limit)
        .fetch_values()
        .await
}

/// Deletes a file. Fails with a violation of a foreign key if a message or tool call refers to it.
pub(crate) async fn delete(db: &Database, id: FileId) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM files WHERE id = ?").bind(id).execute().await.map(|_| ())
}

/// Lists some of a user's files, deleted ones too.
pub(crate) async fn list_of_user(db: &Database, user: UserId, limit: u32) -> sqlx::Result<Vec<FileRow>> {
    db.reader()
        .query(select!(concat!("SELECT ", file_columns!(), " FROM files f WHERE f.user_id = ? ORDER BY f.id LIMIT ?")))
        .bind(user)
        .bind(limit)
        .fetch_all()
        .await
}
