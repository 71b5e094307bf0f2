//! SQL on `sessions`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use super::{
    super::{UserId, secret::SecretHash},
    CallerRow,
};

const CREATE: &str = "INSERT INTO sessions \
     (token_hash, user_id, created_at, last_seen_at, expires_at, user_agent, address) VALUES (?, ?, ?, ?, ?, ?, ?)";

const FIND: &str = "SELECT s.id, s.user_id, u.name, u.role, u.generation, s.last_seen_at AS seen_at, s.created_at \
     FROM sessions s JOIN users u ON u.id = s.user_id \
     WHERE s.token_hash = ? AND s.expires_at > ? AND u.deactivated_at IS NULL";

const SEEN: &str = "UPDATE sessions SET last_seen_at = ?, expires_at = ? WHERE id = ?";

const IS_NEWER: &str = "SELECT COUNT(*) FROM sessions WHERE id = ? AND created_at > ?";

const CONFIRM: &str = "UPDATE sessions SET confirmed_at = ? WHERE id = ?";

const USE_CONFIRMATION: &str = "UPDATE sessions SET confirmed_at = NULL WHERE id = ? AND confirmed_at > ?";

const LIST: &str = "SELECT id, created_at, COALESCE(last_seen_at, created_at) AS last_seen_at, expires_at, user_agent, \
     address FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY last_seen_at DESC, id DESC";

const DELETE: &str = "DELETE FROM sessions WHERE id = ? AND user_id = ?";

const DELETE_ALL: &str = "DELETE FROM sessions WHERE user_id = ?";

const DELETE_OTHERS: &str = "DELETE FROM sessions WHERE user_id = ? AND id <> ?";

const DELETE_EXPIRED: &str = "DELETE FROM sessions WHERE expires_at <= ?";

// The inner query is one that MySQL must not take apart: it reads from no table that it deletes from.
const DELETE_BEYOND: &str = "DELETE FROM sessions WHERE user_id = ? AND id NOT IN (SELECT id FROM \
     (SELECT id FROM sessions WHERE user_id = ? ORDER BY COALESCE(last_seen_at, created_at) DESC, id DESC LIMIT ?) newest)";

/// A session to be made.
#[derive(Clone, Debug)]
pub(in crate::accounts) struct NewSessionRow {
    pub(in crate::accounts) hash: SecretHash,
    pub(in crate::accounts) user: UserId,
    pub(in crate::accounts) expires_at: DateTime<Utc>,
    pub(in crate::accounts) user_agent: String,
    pub(in crate::accounts) address: String,
}

/// A session as its owner sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::accounts) struct SessionRow {
    pub(in crate::accounts) id: i64,
    pub(in crate::accounts) created_at: DateTime<Utc>,
    pub(in crate::accounts) last_seen_at: DateTime<Utc>,
    pub(in crate::accounts) expires_at: DateTime<Utc>,
    pub(in crate::accounts) user_agent: String,
    pub(in crate::accounts) address: String,
}

/// Makes a session, in the place of those that the person used least recently where there are more than `most`.
pub(in crate::accounts) async fn create(tx: &mut Transaction, new: &NewSessionRow, most: u32) -> sqlx::Result<i64> {
    let time = now();
    let id = {
        let query = tx.query(CREATE).bind(&new.hash.0).bind(new.user).bind(time).bind(time).bind(new.expires_at);
        let done = query.bind(&new.user_agent).bind(&new.address).execute().await?;
        done.inserted_id
    };
    { tx.query(DELETE_BEYOND).bind(new.user).bind(new.user).bind(most).execute().await.map(|_| ()) }?;
    Ok(id)
}

pub(in crate::accounts) async fn find(db: &Database, hash: &SecretHash) -> sqlx::Result<Option<CallerRow>> {
    db.reader().query(select!(FIND)).bind(&hash.0).bind(now()).fetch_optional().await
}

pub(in crate::accounts) async fn seen(
    db: &Database,
    id: i64,
    at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> sqlx::Result<()> {
    db.writer().query(SEEN).bind(at).bind(expires_at).bind(id).execute().await.map(|_| ())
}

/// Whether a session began after this time.
pub(in crate::accounts) async fn is_newer(db: &Database, id: i64, than: DateTime<Utc>) -> sqlx::Result<bool> {
    let count: i64 = db.reader().query(select!(IS_NEWER)).bind(id).bind(than).fetch_value().await?;
    Ok(count > 0)
}

/// Notes that whoever uses a session has proved to be its owner.
pub(in crate::accounts) async fn confirm(db: &Database, id: i64) -> sqlx::Result<()> {
    db.writer().query(CONFIRM).bind(now()).bind(id).execute().await.map(|_| ())
}

/// Uses up that proof. False where there is none after this time.
pub(in crate::accounts) async fn use_confirmation(db: &Database, id: i64, after: DateTime<Utc>) -> sqlx::Result<bool> {
    let done = db.writer().query(USE_CONFIRMATION).bind(id).bind(after).execute().await?;
    Ok(done.rows == 1)
}

pub(in crate::accounts) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<SessionRow>> {
    db.reader().query(select!(LIST)).bind(user).bind(now()).fetch_all().await
}

/// Ends one of a person's sessions. False when there is none.
pub(in crate::accounts) async fn delete(db: &Database, user: UserId, id: i64) -> sqlx::Result<bool> {
    let done = db.writer().query(DELETE).bind(id).bind(user).execute().await?;
    Ok(done.rows == 1)
}

pub(in crate::accounts) async fn delete_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    tx.query(DELETE_ALL).bind(user).execute().await.map(|_| ())
}

/// Ends all of a person's sessions but this one.
pub(in crate::accounts) async fn delete_others(tx: &mut Transaction, user: UserId, kept: i64) -> sqlx::Result<()> {
    tx.query(DELETE_OTHERS).bind(user).bind(kept).execute().await.map(|_| ())
}

pub(in crate::accounts) async fn delete_expired(db: &Database) -> sqlx::Result<()> {
    db.writer().query(DELETE_EXPIRED).bind(now()).execute().await.map(|_| ())
}

/// Those of the sessions that are still good, each with the generation of its owner's rights.
pub(in crate::accounts) async fn list_good(db: &Database, ids: &[i64]) -> sqlx::Result<Vec<(i64, i32)>> {
    let mut query = db.reader().query(select!(
        "SELECT s.id, u.generation FROM sessions s JOIN users u ON u.id = s.user_id \
             WHERE u.deactivated_at IS NULL AND s.expires_at > "
    ));
    query.push_bind(now()).push(" AND s.id IN (");
    query.push_list(ids).push(")");
    query.fetch_all().await
}
