//! SQL on `invitations`: links that create an account. Admins create invitations; the server creates the link for the
//! first admin.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{InvitationInfo, UserRole};

use super::super::{UserId, secret::SecretHash};

#[derive(sqlx::FromRow)]
struct InvitationRow {
    id: i64,
    #[sqlx(try_from = "String")]
    role: UserRole,
    created_by: String,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
}

/// A link that can be used.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct LinkRow {
    #[sqlx(try_from = "String")]
    pub(crate) role: UserRole,
    /// Admin who created the link; `None` for a setup link of the server, which creates the first admin.
    pub(crate) created_by: Option<UserId>,
}

pub(crate) async fn create(
    tx: &mut Transaction,
    hash: &SecretHash,
    role: UserRole,
    created_by: Option<UserId>,
    expires_at: DateTime<Utc>,
) -> sqlx::Result<i64> {
    let query = tx
        .query("INSERT INTO invitations (token_hash, role, created_by, created_at, expires_at) VALUES (?, ?, ?, ?, ?)")
        .bind(&hash.0)
        .bind(role.as_str())
        .bind(created_by);
    Ok(query.bind(now()).bind(expires_at).execute().await?.inserted_id)
}

/// Lists the invitations that can still be used, newest first.
pub(crate) async fn list_open(db: &Database) -> sqlx::Result<Vec<InvitationInfo>> {
    let rows: Vec<InvitationRow> = db
        .reader()
        .query(select!(
            "SELECT i.id, i.role, u.name AS created_by, i.created_at, i.expires_at \
             FROM invitations i JOIN users u ON u.id = i.created_by \
             WHERE i.used_at IS NULL AND i.expires_at > ? ORDER BY i.created_at DESC, i.id DESC"
        ))
        .bind(now())
        .fetch_all()
        .await?;
    let info = |InvitationRow { id, role, created_by, created_at, expires_at }| InvitationInfo {
        id,
        role,
        created_by,
        created_at,
        expires_at,
    };
    Ok(rows.into_iter().map(info).collect())
}

/// Deletes an unused invitation. Returns `false` if no unused invitation has this ID.
pub(crate) async fn delete_open(tx: &mut Transaction, id: i64) -> sqlx::Result<bool> {
    Ok(tx
        .query("DELETE FROM invitations WHERE id = ? AND created_by IS NOT NULL AND used_at IS NULL")
        .bind(id)
        .execute()
        .await?
        .rows
        == 1)
}

pub(crate) async fn count_open(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM invitations WHERE created_by IS NOT NULL AND used_at IS NULL AND expires_at > ?")
        .bind(now())
        .fetch_value()
        .await
}

pub(crate) async fn find(db: &Database, hash: &SecretHash) -> sqlx::Result<Option<LinkRow>> {
    db.reader()
        .query(select!(
            "SELECT role, created_by FROM invitations WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?"
        ))
        .bind(&hash.0)
        .bind(now())
        .fetch_optional()
        .await
}

/// Marks a link as used. Returns `false` if it is already used or expired, so only one of several concurrent requests
/// succeeds.
pub(crate) async fn use_up(tx: &mut Transaction, hash: &SecretHash) -> sqlx::Result<bool> {
    let time = now();
    let done = tx
        .query("UPDATE invitations SET used_at = ? WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?")
        .bind(time)
        .bind(&hash.0)
        .bind(time)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

pub(crate) async fn delete_before(db: &Database, time: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM invitations WHERE expires_at < ?").bind(time).execute().await.map(|_| ())
}
