//! SQL on `identities`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::Identity;

use super::super::UserId;

/// An identity to link.
#[derive(Clone, Debug)]
pub(crate) struct NewIdentityRow {
    pub(crate) issuer: String,
    pub(crate) subject: String,
    pub(crate) label: String,
    /// `true` if the owner has just signed in with the identity.
    pub(crate) has_signed_in: bool,
}

/// The owner of an identity. `id` is the identity's row ID.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct OwnerRow {
    pub(crate) id: i64,
    pub(crate) user_id: UserId,
    pub(crate) deactivated_at: Option<DateTime<Utc>>,
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

/// Links an identity and returns its row ID. An identity that is already linked causes a unique violation.
pub(crate) async fn create(tx: &mut Transaction, user: UserId, new: &NewIdentityRow) -> sqlx::Result<i64> {
    let time = now();
    let query = tx
        .query(
            "INSERT INTO identities (user_id, issuer, subject, label, created_at, last_used_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(user)
        .bind(&new.issuer)
        .bind(&new.subject)
        .bind(&new.label);
    let done = query.bind(time).bind(new.has_signed_in.then_some(time)).execute().await?;
    Ok(done.inserted_id)
}

pub(crate) async fn find(db: &Database, issuer: &str, subject: &str) -> sqlx::Result<Option<OwnerRow>> {
    db.reader()
        .query(select!(
            "SELECT i.id, i.user_id, u.deactivated_at FROM identities i JOIN users u ON u.id = i.user_id \
             WHERE i.issuer = ? AND i.subject = ?"
        ))
        .bind(issuer)
        .bind(subject)
        .fetch_optional()
        .await
}

pub(crate) async fn list(db: &Database, user: UserId) -> sqlx::Result<Vec<Identity>> {
    let rows: Vec<IdentityRow> = db
        .reader()
        .query(select!(
            "SELECT id, issuer, subject, label, created_at, last_used_at FROM identities WHERE user_id = ? \
             ORDER BY created_at, id"
        ))
        .bind(user)
        .fetch_all()
        .await?;
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

pub(crate) async fn count(tx: &mut Transaction, user: UserId) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM identities WHERE user_id = ?").bind(user).fetch_value().await
}

/// Records a sign-in with an identity, and its current label.
pub(crate) async fn record_use(db: &Database, id: i64, label: &str) -> sqlx::Result<()> {
    db.writer()
        .query("UPDATE identities SET last_used_at = ?, label = ? WHERE id = ?")
        .bind(now())
        .bind(label)
        .bind(id)
        .execute()
        .await
        .map(|_| ())
}

/// Unlinks one of a user's identities. Returns `false` if the user has no identity with this ID.
pub(crate) async fn delete(tx: &mut Transaction, user: UserId, id: i64) -> sqlx::Result<bool> {
    let done = tx.query("DELETE FROM identities WHERE id = ? AND user_id = ?").bind(id).bind(user).execute().await?;
    Ok(done.rows == 1)
}

pub(crate) async fn delete_all(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    tx.query("DELETE FROM identities WHERE user_id = ?").bind(user).execute().await.map(|_| ())
}
