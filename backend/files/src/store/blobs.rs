//! SQL of `blobs` and `blob_chunks`: content by its SHA-256 hash.

use chrono::{DateTime, Utc};
use tallybook_database::{COMMAND_TIMEOUT, Database, Transaction, is_unique_violation, now, select, with_retries};

use crate::store::{MAX_KEYS_PER_STATEMENT, is_referred_to};

/// Value of `blobs.storage` for content in `blob_chunks`.
pub(crate) const IN_DATABASE: &str = "database";

/// A row of `blobs`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct BlobRow {
    pub(crate) sha256: String,
    pub(crate) bytes: i64,
    pub(crate) media_type: String,
    pub(crate) storage: String,
    pub(crate) stored_at: Option<DateTime<Utc>>,
}

/// Content that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBlob<'a> {
    pub(crate) sha256: &'a str,
    pub(crate) bytes: i64,
    pub(crate) media_type: &'a str,
    pub(crate) storage: &'a str,
    /// `false` if its chunks follow.
    pub(crate) is_complete: bool,
}

/// Keeps complete content from being purged for a day. Returns `false` if the content is missing or incomplete.
pub(crate) async fn touch(db: &Database, sha256: &str) -> sqlx::Result<bool> {
    let touch = "UPDATE blobs SET used_at = ? WHERE sha256 = ? AND stored_at IS NOT NULL";
    let touched = db.writer().query(touch).bind(now()).bind(sha256).execute().await?;
    Ok(touched.rows == 1)
}

/// Keeps complete contents from being purged, and locks their rows until the transaction ends. Returns `false` if some
/// content is missing or incomplete. `hashes` must be sorted and distinct: in the same order in all transactions, two
/// of them never wait for each other.
pub(crate) async fn touch_all(tx: &mut Transaction, hashes: &[&str]) -> sqlx::Result<bool> {
    let mut touched = 0;
    for hashes in hashes.chunks(MAX_KEYS_PER_STATEMENT) {
        let touch = "UPDATE blobs SET used_at = ? WHERE stored_at IS NOT NULL AND sha256 IN (";
        let mut touch = tx.query(touch).bind(now());
        touch.push_list(hashes.iter().copied()).push(")");
        touched += touch.execute().await?.rows;
    }
    Ok(touched == hashes.len() as u64)
}

/// Stores the row of content. Returns `false` if there is one already.
pub(crate) async fn create(db: &Database, new: NewBlob<'_>) -> sqlx::Result<bool> {
    let time = now();
    let created = db
        .writer()
        .query("INSERT INTO blobs (sha256, bytes, media_type, storage, stored_at, used_at) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(new.sha256)
        .bind(new.bytes)
        .bind(new.media_type)
        .bind(new.storage)
        .bind(new.is_complete.then_some(time))
        .bind(time)
        .execute()
        .await;
    match created {
        Ok(_) => Ok(true),
        Err(error) if is_unique_violation(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Stores a part of content, unless another upload of the same content has stored it already. Returns `false` if the
/// content was purged meanwhile.
pub(crate) async fn create_chunk(db: &Database, sha256: &str, position: i32, bytes: &[u8]) -> sqlx::Result<bool> {
    // A statement outside a transaction would keep a second copy of its values, for a retry.
    let create = async || {
        let mut tx = db.begin().await?;
        let create = tx.query("INSERT INTO blob_chunks (sha256, position, bytes) VALUES (?, ?, ?)");
        create.bind(sha256).bind(position).bind(bytes).execute().await?;
        tx.commit().await
    };
    match with_retries(create).await {
        Err(error) if is_referred_to(&error) => Ok(false),
        Err(error) if !is_unique_violation(&error) => Err(error),
        Err(_) | Ok(()) => Ok(true),
    }
}

/// Marks content as complete if this number of parts is stored. Otherwise it was purged meanwhile, and stays
/// incomplete.
pub(crate) async fn complete(db: &Database, sha256: &str, parts: i32) -> sqlx::Result<()> {
    let time = now();
    db.writer()
        .query(
            "UPDATE blobs SET stored_at = COALESCE(stored_at, ?), used_at = ? WHERE sha256 = ? \
             AND (SELECT COUNT(*) FROM blob_chunks c WHERE c.sha256 = blobs.sha256) = ?",
        )
        .bind(time)
        .bind(time)
        .bind(sha256)
        .bind(parts)
        .execute()
        .await
        .map(|_| ())
}

/// Returns the row of content.
pub(crate) async fn find(db: &Database, sha256: &str) -> sqlx::Result<Option<BlobRow>> {
    db.reader()
        .query(select!("SELECT sha256, bytes, media_type, storage, stored_at FROM blobs WHERE sha256 = ?"))
        .bind(sha256)
        .fetch_optional()
        .await
}

/// Returns a part of content.
pub(crate) async fn find_chunk(db: &Database, sha256: &str, position: i32) -> sqlx::Result<Option<Vec<u8>>> {
    db.reader()
        .query(select!("SELECT bytes FROM blob_chunks WHERE sha256 = ? AND position = ?"))
        .bind(sha256)
        .bind(position)
        .fetch_optional_value()
        .await
}

/// Lists at most `limit` rows of content that no file refers to and that was not used since `before`. Without a store for
/// objects, lists only content in the database.
pub(crate) async fn list_unused(
    db: &Database,
    before: DateTime<Utc>,
    has_store: bool,
    limit: u32,
) -> sqlx::Result<Vec<BlobRow>> {
    db.reader()
        .query(select!(
            "SELECT b.sha256, b.bytes, b.media_type, b.storage, b.stored_at FROM blobs b WHERE b.used_at < ? \
             AND (? = 1 OR b.storage = ?) \
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.sha256 = b.sha256) \
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.model_sha256 = b.sha256) \
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.thumb_sha256 = b.sha256) ORDER BY b.used_at LIMIT ?"
        ))
        .bind(before)
        .bind(i32::from(has_store))
        .bind(IN_DATABASE)
        .bind(limit)
        .fetch_all()
        .await
}

/// Deletes content with its parts and its text, if it was not used since `before`. Returns `false` if it was. Fails
/// with a violation of a foreign key if a file refers to it.
pub(crate) async fn delete_unused(db: &Database, sha256: &str, before: DateTime<Utc>) -> sqlx::Result<bool> {
    let deleted = db
        .writer()
        .query("DELETE FROM blobs WHERE sha256 = ? AND used_at < ?")
        .bind(sha256)
        .bind(before)
        .execute()
        .await?;
    Ok(deleted.rows == 1)
}

/// Deletes complete content with its parts and its text, whenever it was used. Returns `false` if an upload has
/// replaced it meanwhile. Fails with a violation of a foreign key if a file refers to it.
pub(crate) async fn delete_complete(db: &Database, blob: &BlobRow) -> sqlx::Result<bool> {
    let deleted = db
        .writer()
        .query("DELETE FROM blobs WHERE sha256 = ? AND storage = ? AND stored_at IS NOT NULL")
        .bind(blob.sha256.as_str())
        .bind(blob.storage.as_str())
        .execute()
        .await?;
    Ok(deleted.rows == 1)
}

/// Lists complete content after this hash, in the order of hashes.
pub(crate) async fn list_after(db: &Database, sha256: &str, limit: u32) -> sqlx::Result<Vec<BlobRow>> {
    db.reader()
        .query(select!(
            "SELECT sha256, bytes, media_type, storage, stored_at FROM blobs WHERE sha256 > ? AND stored_at IS NOT NULL \
             ORDER BY sha256 LIMIT ?"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .bind(sha256)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns `true` if content is stored at this place.
pub(crate) async fn is_stored_at(db: &Database, sha256: &str, storage: &str) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM blobs WHERE sha256 = ? AND storage = ?"))
        .bind(sha256)
        .bind(storage)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Returns `true` if some content is not in the database.
pub(crate) async fn has_objects(db: &Database) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM (SELECT 1 AS one FROM blobs WHERE storage <> ? LIMIT 1) AS objects"))
        .bind(IN_DATABASE)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Returns the number of complete contents, and their size in bytes.
pub(crate) async fn sum(db: &Database) -> sqlx::Result<(i64, i64)> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS SIGNED) FROM blobs WHERE stored_at IS NOT NULL"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .fetch_one()
        .await
}

/// Returns the number of contents that no file refers to, and their size in bytes.
pub(crate) async fn sum_unused(db: &Database) -> sqlx::Result<(i64, i64)> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(b.bytes), 0) AS SIGNED) FROM blobs b \
             WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.sha256 = b.sha256) \
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.model_sha256 = b.sha256) \
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.thumb_sha256 = b.sha256)"
        ))
        .with_timeout(COMMAND_TIMEOUT)
        .fetch_one()
        .await
}
