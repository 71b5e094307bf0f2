//! SQL on `identities`.

use chrono::{DateTime, Utc};
use tallybook_protocol::Identity;

use super::super::UserId;
use crate::db::{Database, InsertedId as _, Transaction, now, on_db, on_tx, write_db};

const CREATE: &str =
    "INSERT INTO identities (user_id, issuer, subject, label, created_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?)";

const FIND: &str = "SELECT i.id, i.user_id, u.deactivated_at FROM identities i JOIN users u ON u.id = i.user_id \
     WHERE i.issuer = ? AND i.subject = ?";

const LIST: &str = "SELECT id, issuer, subject, label, created_at, last_used_at FROM identities WHERE user_id = ? \
     ORDER BY created_at, id";

const COUNT: &str = "SELECT COUNT(*) FROM identities WHERE user_id = ?";

const USED: &str = "UPDATE identities SET last_used_at = ?, label = ? WHERE id = ?";

const DELETE: &str = "DELETE FROM identities WHERE id = ? AND user_id = ?";

const DELETE_ALL: &str = "DELETE FROM identities WHERE user_id = ?";

/// An identity to be linked.
#[derive(Clone, Debug)]
pub(in crate::accounts) struct NewIdentityRow {
    pub(in crate::accounts) issuer: String,
    pub(in crate::accounts) subject: String,
    pub(in crate::accounts) label: String,
    /// Whether its owner has just come by it.
    pub(in crate::accounts) is_used: bool,
}

/// Whose an identity is.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::accounts) struct OwnerRow {
    pub(in crate::accounts) id: i64,
    pub(in crate::accounts) user_id: UserId,
    pub(in crate::accounts) deactivated_at: Option<DateTime<Utc>>,
}

#[derive(sqlx::FromRow)]
struct IdentityRow {
    id: i64,
    issuer: String,
    subject: String,
    label: String,
    created_at: DateTime<Utc>,
    last_used_at: Option<DateTime<Utc>>,
}

/// Links an identity. One that is linked already is an error of the database.
pub(in crate::accounts) async fn create(tx: &mut Transaction, user: UserId, new: &NewIdentityRow) -> sqlx::Result<i64> {
    let time = now();
    on_tx!(tx, |connection| {
        let query = sqlx::query(CREATE).bind(user).bind(&new.issuer).bind(&new.subject).bind(&new.label);
        let done = query.bind(time).bind(new.is_used.then_some(time)).execute(connection).await?;
        Ok(done.inserted_id())
    })
}

pub(in crate::accounts) async fn find(db: &Database, issuer: &str, subject: &str) -> sqlx::Result<Option<OwnerRow>> {
    on_db!(db, |pool| sqlx::query_as(FIND).bind(issuer).bind(subject).fetch_optional(pool).await)
}

pub(in crate::accounts) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<Identity>> {
    let rows: Vec<IdentityRow> = on_db!(db, |pool| sqlx::query_as(LIST).bind(user).fetch_all(pool).await)?;
    let identity = |IdentityRow { id, issuer, subject, label, created_at, last_used_at }| Identity {
        id,
        issuer,
        subject,
        label,
        created_at,
        last_used_at,
    };
    Ok(rows.into_iter().map(identity).collect())
}

pub(in crate::accounts) async fn count(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    on_tx!(tx, |connection| sqlx::query_scalar(COUNT).bind(user).fetch_one(connection).await)
}

/// Notes when somebody came by it, and what the issuer calls the person now.
pub(in crate::accounts) async fn used(db: &Database, id: i64, label: &str) -> sqlx::Result<()> {
    write_db!(db, |pool| sqlx::query(USED).bind(now()).bind(label).bind(id).execute(pool).await.map(|_| ()))
}

/// Unlinks one of a person's. False when there is none.
pub(in crate::accounts) async fn delete(tx: &mut Transaction, user: UserId, id: i64) -> sqlx::Result<bool> {
    on_tx!(tx, |connection| {
        let done = sqlx::query(DELETE).bind(id).bind(user).execute(connection).await?;
        Ok(done.rows_affected() == 1)
    })
}

pub(in crate::accounts) async fn delete_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    on_tx!(tx, |connection| sqlx::query(DELETE_ALL).bind(user).execute(connection).await.map(|_| ()))
}
