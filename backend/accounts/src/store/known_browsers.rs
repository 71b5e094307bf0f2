//! SQL on `known_browsers`: browsers with which a user signed in before.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use super::super::{UserId, secret::SecretHash};

/// Returns `true` if the user signed in before with the browser that has this token.
pub(crate) async fn is_known(db: &Database, token: &SecretHash, user: UserId) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM known_browsers WHERE token_hash = ? AND user_id = ?"))
        .bind(&token.0)
        .bind(user)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

/// Records that a user signed in again. Returns `false` if the browser isn't known for this user.
pub(crate) async fn seen(tx: &mut Transaction, token: &SecretHash, user: UserId) -> sqlx::Result<bool> {
    let done = tx
        .query("UPDATE known_browsers SET last_seen_at = ? WHERE token_hash = ? AND user_id = ?")
        .bind(now())
        .bind(&token.0)
        .bind(user)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Adds a browser. If the user then has more than `most`, deletes those used least recently.
pub(crate) async fn create(tx: &mut Transaction, token: &SecretHash, user: UserId, most: u32) -> sqlx::Result<()> {
    tx.query("INSERT INTO known_browsers (token_hash, user_id, last_seen_at) VALUES (?, ?, ?)")
        .bind(&token.0)
        .bind(user)
        .bind(now())
        .execute()
        .await?;
    // MySQL cannot delete from a table that a subquery reads. The LIMIT makes it compute the inner query first.
    tx.query(
        "DELETE FROM known_browsers WHERE user_id = ? AND token_hash NOT IN (SELECT token_hash \
         FROM (SELECT token_hash FROM known_browsers WHERE user_id = ? \
         ORDER BY last_seen_at DESC, token_hash LIMIT ?) newest)",
    )
    .bind(user)
    .bind(user)
    .bind(most)
    .execute()
    .await
    .map(|_| ())
}

pub(crate) async fn delete_before(db: &Database, time: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query("DELETE FROM known_browsers WHERE last_seen_at < ?").bind(time).execute().await.map(|_| ())
}
