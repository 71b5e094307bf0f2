//! SQL on `api_keys`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::KeyInfo;

use super::{
    super::{UserId, secret::SecretHash},
    CallerRow,
};

#[derive(sqlx::FromRow)]
struct KeyRow {
    id: i64,
    name: String,
    prefix: String,
    created_at: DateTime<Utc>,
    last_used_at: Option<DateTime<Utc>>,
    expires_at: Option<DateTime<Utc>>,
}

impl From<KeyRow> for KeyInfo {
    fn from(KeyRow { id, name, prefix, created_at, last_used_at, expires_at }: KeyRow) -> Self {
        Self { id, name, prefix, created_at, last_used_at, expires_at }
    }
}

#[derive(sqlx::FromRow)]
struct OwnedKeyRow {
    user_name: String,
    #[sqlx(flatten)]
    key: KeyRow,
}

/// An API key to create.
#[derive(Clone, Debug)]
pub(crate) struct NewKeyRow {
    pub(crate) user: UserId,
    pub(crate) hash: SecretHash,
    pub(crate) prefix: String,
    pub(crate) name: String,
    /// Expiration time; `None` for a key that does not expire.
    pub(crate) expires_at: Option<DateTime<Utc>>,
}

pub(crate) async fn count(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    tx.query(
        "SELECT COUNT(*) FROM api_keys WHERE user_id = ? AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > ?)",
    )
    .bind(user)
    .bind(now())
    .fetch_value()
    .await
}

pub(crate) async fn create(tx: &mut Transaction, new: &NewKeyRow) -> sqlx::Result<i64> {
    let query = tx
        .query("INSERT INTO api_keys (user_id, hash, prefix, name, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(new.user)
        .bind(&new.hash.0)
        .bind(&new.prefix)
        .bind(&new.name);
    Ok(query.bind(now()).bind(new.expires_at).execute().await?.inserted_id)
}

pub(crate) async fn find(db: &Database, hash: &SecretHash) -> sqlx::Result<Option<CallerRow>> {
    db.reader()
        .query(select!(
            "SELECT k.id, k.user_id, u.name, u.role, u.generation, k.last_used_at AS seen_at, k.created_at \
             FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = ? AND k.revoked_at IS NULL \
             AND (k.expires_at IS NULL OR k.expires_at > ?) AND u.deactivated_at IS NULL"
        ))
        .bind(&hash.0)
        .bind(now())
        .fetch_optional()
        .await
}

pub(crate) async fn used(db: &Database, id: i64, at: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query("UPDATE api_keys SET last_used_at = ? WHERE id = ?").bind(at).bind(id).execute().await.map(|_| ())
}

pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<KeyInfo>> {
    let rows: Vec<KeyRow> = db
        .reader()
        .query(select!(
            "SELECT id, name, prefix, created_at, last_used_at, expires_at FROM api_keys WHERE user_id = ? \
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at DESC, id DESC"
        ))
        .bind(user)
        .bind(now())
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(KeyInfo::from).collect())
}

/// Revokes one of a user's API keys and returns its prefix. Returns `None` if the user has no unrevoked key with this
/// ID.
pub(crate) async fn revoke(tx: &mut Transaction, user: UserId, id: i64) -> sqlx::Result<Option<String>> {
    let prefix = tx
        .query("SELECT prefix FROM api_keys WHERE id = ? AND user_id = ? AND revoked_at IS NULL")
        .bind(id)
        .bind(user)
        .fetch_optional_value()
        .await?;
    let revoked = tx
        .query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND user_id = ? AND revoked_at IS NULL")
        .bind(now())
        .bind(id)
        .bind(user)
        .execute()
        .await?;
    Ok(prefix.filter(|_| revoked.rows == 1))
}

/// Lists at most `limit` valid API keys of all users with IDs above `last`, oldest first, each with the user's name.
pub(crate) async fn list_of_all(db: &Database, last: i64, limit: u32) -> sqlx::Result<Vec<(String, KeyInfo)>> {
    let rows: Vec<OwnedKeyRow> = db
        .reader()
        .query(select!(
            "SELECT u.name AS user_name, k.id, k.name, k.prefix, k.created_at, k.last_used_at, \
             k.expires_at FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.revoked_at IS NULL \
             AND (k.expires_at IS NULL OR k.expires_at > ?) AND k.id > ? ORDER BY k.id LIMIT ?"
        ))
        .bind(now())
        .bind(last)
        .bind(limit)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(|row| (row.user_name, row.key.into())).collect())
}

/// Returns the owner of an API key, or `None` if no unrevoked key has this ID.
pub(crate) async fn find_owner(db: &Database, id: i64) -> sqlx::Result<Option<UserId>> {
    db.reader()
        .query(select!("SELECT user_id FROM api_keys WHERE id = ? AND revoked_at IS NULL"))
        .bind(id)
        .fetch_optional_value()
        .await
}

/// Revokes all of a user's API keys. Returns `false` if the user had none.
pub(crate) async fn revoke_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<bool> {
    let done = tx
        .query("UPDATE api_keys SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL")
        .bind(now())
        .bind(user)
        .execute()
        .await?;
    Ok(done.rows > 0)
}

/// Returns the IDs of those API keys that are still valid, each with its owner's permission generation.
pub(crate) async fn list_valid(db: &Database, ids: &[i64]) -> sqlx::Result<Vec<(i64, i32)>> {
    let mut query = db.reader().query(select!(
        "SELECT k.id, u.generation FROM api_keys k JOIN users u ON u.id = k.user_id \
         WHERE u.deactivated_at IS NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > "
    ));
    query.push_bind(now()).push(") AND k.id IN (");
    query.push_list(ids).push(")");
    query.fetch_all().await
}
