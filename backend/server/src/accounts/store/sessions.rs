//! SQL on `sessions`.

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{
    super::{UserId, secret::SecretHash},
    CallerRow,
};
use crate::db::{Database, InsertedId as _, Transaction, now, on_db, on_tx, write_db};

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
    let id = on_tx!(&mut *tx, |connection| {
        let query = sqlx::query(CREATE).bind(&new.hash.0).bind(new.user).bind(time).bind(time).bind(new.expires_at);
        let done = query.bind(&new.user_agent).bind(&new.address).execute(connection).await?;
        Ok(done.inserted_id())
    })?;
    on_tx!(tx, |connection| {
        sqlx::query(DELETE_BEYOND).bind(new.user).bind(new.user).bind(most).execute(connection).await.map(|_| ())
    })?;
    Ok(id)
}

pub(in crate::accounts) async fn find(db: &Database, hash: &SecretHash) -> sqlx::Result<Option<CallerRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(&hash.0).bind(now()).fetch_optional(pool).await)
}

pub(in crate::accounts) async fn seen(
    db: &Database,
    id: i64,
    at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> sqlx::Result<()> {
    write_db!(db, |pool| sqlx::query(SEEN).bind(at).bind(expires_at).bind(id).execute(pool).await.map(|_| ()))
}

/// Whether a session began after this time.
pub(in crate::accounts) async fn is_newer(db: &Database, id: i64, than: DateTime<Utc>) -> sqlx::Result<bool> {
    let count: i64 = on_db!(db, |pool| sqlx::query_scalar(IS_NEWER).bind(id).bind(than).fetch_one(pool).await)?;
    Ok(count > 0)
}

/// Notes that whoever uses a session has proved to be its owner.
pub(in crate::accounts) async fn confirm(db: &Database, id: i64) -> sqlx::Result<()> {
    write_db!(db, |pool| sqlx::query(CONFIRM).bind(now()).bind(id).execute(pool).await.map(|_| ()))
}

/// Uses up that proof. False where there is none after this time.
pub(in crate::accounts) async fn use_confirmation(db: &Database, id: i64, after: DateTime<Utc>) -> sqlx::Result<bool> {
    write_db!(db, |pool| {
        let done = sqlx::query(USE_CONFIRMATION).bind(id).bind(after).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}

pub(in crate::accounts) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<SessionRow>> {
    on_db!(db, |pool| sqlx::query_as(LIST).bind(user).bind(now()).fetch_all(pool).await)
}

/// Ends one of a person's sessions. False when there is none.
pub(in crate::accounts) async fn delete(db: &Database, user: UserId, id: i64) -> sqlx::Result<bool> {
    write_db!(db, |pool| {
        let done = sqlx::query(DELETE).bind(id).bind(user).execute(pool).await?;
        Ok(done.rows_affected() == 1)
    })
}

pub(in crate::accounts) async fn delete_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    on_tx!(tx, |connection| sqlx::query(DELETE_ALL).bind(user).execute(connection).await.map(|_| ()))
}

/// Ends all of a person's sessions but this one.
pub(in crate::accounts) async fn delete_others(tx: &mut Transaction, user: UserId, kept: i64) -> sqlx::Result<()> {
    on_tx!(tx, |connection| sqlx::query(DELETE_OTHERS).bind(user).bind(kept).execute(connection).await.map(|_| ()))
}

pub(in crate::accounts) async fn delete_expired(db: &Database) -> sqlx::Result<()> {
    write_db!(db, |pool| sqlx::query(DELETE_EXPIRED).bind(now()).execute(pool).await.map(|_| ()))
}

/// Those of the sessions that are still good, each with the generation of its owner's rights.
pub(in crate::accounts) async fn list_good(db: &Database, ids: &[i64]) -> sqlx::Result<Vec<(i64, i32)>> {
    on_db!(db, |pool| {
        let mut query = QueryBuilder::new(
            "SELECT s.id, u.generation FROM sessions s JOIN users u ON u.id = s.user_id \
             WHERE u.deactivated_at IS NULL AND s.expires_at > ",
        );
        query.push_bind(now()).push(" AND s.id IN (");
        let mut list = query.separated(", ");
        for id in ids {
            list.push_bind(*id);
        }
        query.push(")");
        query.build_query_as().fetch_all(pool).await
    })
}
