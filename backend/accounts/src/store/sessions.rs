//! SQL on `sessions`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use super::{
    super::{UserId, secret::SecretHash},
    CallerRow,
};

const DELETE: &str = "DELETE FROM sessions WHERE id = ? AND user_id = ?";

/// A session to create.
#[derive(Clone, Debug)]
pub(crate) struct NewSessionRow {
    pub(crate) hash: SecretHash,
    pub(crate) user: UserId,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) user_agent: String,
    pub(crate) address: String,
}

/// A session as its owner sees it in the list of sessions.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct SessionRow {
    pub(crate) id: i64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) last_seen_at: DateTime<Utc>,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) user_agent: String,
    pub(crate) address: String,
}

/// Creates a session and returns its row ID. If the user then has more than `most`, deletes those used least recently.
pub(crate) async fn create(tx: &mut Transaction, new: &NewSessionRow, most: u32) -> sqlx::Result<i64> {
    let time = now();
    let created = tx
        .query(
            "INSERT INTO sessions \
             (token_hash, user_id, created_at, last_seen_at, expires_at, user_agent, address) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&new.hash.0)
        .bind(new.user)
        .bind(time)
        .bind(time)
        .bind(new.expires_at)
        .bind(&new.user_agent)
        .bind(&new.address)
        .execute()
        .await?;
    // MySQL cannot delete from a table that a subquery reads. The LIMIT makes it compute the inner query first.
    tx.query(
        "DELETE FROM sessions WHERE user_id = ? AND id NOT IN (SELECT id FROM (SELECT id FROM sessions \
         WHERE user_id = ? ORDER BY COALESCE(last_seen_at, created_at) DESC, id DESC LIMIT ?) newest)",
    )
    .bind(new.user)
    .bind(new.user)
    .bind(most)
    .execute()
    .await?;
    Ok(created.inserted_id)
}

pub(crate) async fn find(db: &Database, hash: &SecretHash) -> sqlx::Result<Option<CallerRow>> {
    db.reader()
        .query(select!(
            "SELECT s.id, s.user_id, u.name, u.role, u.generation, s.last_seen_at AS seen_at, s.created_at \
             FROM sessions s JOIN users u ON u.id = s.user_id \
             WHERE s.token_hash = ? AND s.expires_at > ? AND u.deactivated_at IS NULL"
        ))
        .bind(&hash.0)
        .bind(now())
        .fetch_optional()
        .await
}

/// Returns `true` if the session's account is deactivated, but not deleted.
pub(crate) async fn is_of_deactivated(db: &Database, hash: &SecretHash) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!(
            "SELECT COUNT(*) FROM sessions s JOIN users u ON u.id = s.user_id \
             WHERE s.token_hash = ? AND u.deactivated_at IS NOT NULL AND u.deleted_at IS NULL"
        ))
        .bind(&hash.0)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Renews a session, unless it has ended meanwhile.
pub(crate) async fn seen(db: &Database, id: i64, at: DateTime<Utc>, expires_at: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer()
        .query(
            "UPDATE sessions SET last_seen_at = ?, expires_at = ? WHERE id = ? AND expires_at > ? \
             AND user_id IN (SELECT id FROM users WHERE deactivated_at IS NULL)",
        )
        .bind(at)
        .bind(expires_at)
        .bind(id)
        .bind(at)
        .execute()
        .await
        .map(|_| ())
}

/// Returns `true` if the session was created after this time.
pub(crate) async fn is_newer(db: &Database, id: i64, than: DateTime<Utc>) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM sessions WHERE id = ? AND created_at > ?"))
        .bind(id)
        .bind(than)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Records that a session's user has proved ownership of the account.
pub(crate) async fn confirm(db: &Database, id: i64) -> sqlx::Result<()> {
    db.writer()
        .query("UPDATE sessions SET confirmed_at = ? WHERE id = ?")
        .bind(now())
        .bind(id)
        .execute()
        .await
        .map(|_| ())
}

/// Uses up the proof of ownership that `confirm` recorded. Returns `false` if the session has none from after this
/// time.
pub(crate) async fn use_confirmation(db: &Database, id: i64, after: DateTime<Utc>) -> sqlx::Result<bool> {
    let done = db
        .writer()
        .query("UPDATE sessions SET confirmed_at = NULL WHERE id = ? AND confirmed_at > ?")
        .bind(id)
        .bind(after)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<SessionRow>> {
    db.reader()
        .query(select!(
            "SELECT id, created_at, COALESCE(last_seen_at, created_at) AS last_seen_at, expires_at, user_agent, \
             address FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY last_seen_at DESC, id DESC"
        ))
        .bind(user)
        .bind(now())
        .fetch_all()
        .await
}

/// Ends one of a user's sessions. Returns `false` if the user has no session with this ID.
pub(crate) async fn delete(db: &Database, user: UserId, id: i64) -> sqlx::Result<bool> {
    let done = db.writer().query(DELETE).bind(id).bind(user).execute().await?;
    Ok(done.rows == 1)
}

/// Ends one of a user's sessions, and returns its IP address. Returns `None` if the user has no session with this ID.
pub(crate) async fn delete_returning_address(
    tx: &mut Transaction,
    user: UserId,
    id: i64,
) -> sqlx::Result<Option<String>> {
    let address: Option<String> = tx
        .query("SELECT COALESCE(address, '') FROM sessions WHERE id = ? AND user_id = ?")
        .bind(id)
        .bind(user)
        .fetch_optional_value()
        .await?;
    let done = tx.query(DELETE).bind(id).bind(user).execute().await?;
    Ok(address.filter(|_| done.rows == 1))
}

pub(crate) async fn delete_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    tx.query("DELETE FROM sessions WHERE user_id = ?").bind(user).execute().await.map(|_| ())
}

/// Ends all sessions of a user whose account is being deactivated. Their rows stay for a while, without user agent and
/// address, so that the sign-in form can say why the sessions ended.
pub(crate) async fn end_all_of_deactivated(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    tx.query("UPDATE sessions SET expires_at = ?, user_agent = '', address = '' WHERE user_id = ?")
        .bind(now())
        .bind(user)
        .execute()
        .await
        .map(|_| ())
}

/// Ends all of a user's sessions except `kept`.
pub(crate) async fn delete_others(tx: &mut Transaction, user: UserId, kept: i64) -> sqlx::Result<()> {
    tx.query("DELETE FROM sessions WHERE user_id = ? AND id <> ?").bind(user).bind(kept).execute().await.map(|_| ())
}

/// Deletes expired sessions; those of deactivated accounts only if they expired before `of_deactivated`.
pub(crate) async fn delete_expired(db: &Database, of_deactivated: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer()
        .query(
            "DELETE FROM sessions WHERE expires_at <= ? AND (expires_at <= ? OR user_id NOT IN \
             (SELECT id FROM users WHERE deactivated_at IS NOT NULL AND deleted_at IS NULL))",
        )
        .bind(now())
        .bind(of_deactivated)
        .execute()
        .await
        .map(|_| ())
}

/// Returns the IDs of those sessions that are still valid, each with its owner's permission generation.
pub(crate) async fn list_valid(db: &Database, ids: &[i64]) -> sqlx::Result<Vec<(i64, i32)>> {
    let mut query = db.reader().query(select!(
        "SELECT s.id, u.generation FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE u.deactivated_at IS NULL AND s.expires_at > "
    ));
    query.push_bind(now()).push(" AND s.id IN (");
    query.push_list(ids).push(")");
    query.fetch_all().await
}
