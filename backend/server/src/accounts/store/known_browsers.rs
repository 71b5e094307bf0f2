//! SQL on `known_browsers`: browsers in which a user signed in before.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};

use super::super::{UserId, secret::SecretHash};

const COUNT: &str = "SELECT COUNT(*) FROM known_browsers WHERE token_hash = ? AND user_id = ?";

const SEEN: &str = "UPDATE known_browsers SET last_seen_at = ? WHERE token_hash = ? AND user_id = ?";

const CREATE: &str = "INSERT INTO known_browsers (token_hash, user_id, last_seen_at) VALUES (?, ?, ?)";

// The inner query is one that MySQL must not take apart: it reads from no table that it deletes from.
const DELETE_BEYOND: &str = "DELETE FROM known_browsers WHERE user_id = ? AND token_hash NOT IN (SELECT token_hash FROM \
     (SELECT token_hash FROM known_browsers WHERE user_id = ? ORDER BY last_seen_at DESC, token_hash LIMIT ?) newest)";

const DELETE_OLD: &str = "DELETE FROM known_browsers WHERE last_seen_at < ?";

/// Returns `true` if the user signed in before in the browser with this token.
pub(in crate::accounts) async fn is_known(db: &Database, token: &SecretHash, user: UserId) -> sqlx::Result<bool> {
    let count: i64 = db.reader().query(select!(COUNT)).bind(&token.0).bind(user).fetch_value().await?;
    Ok(count > 0)
}

/// Notes that a user signed in again. False if the browser is not known for that.
pub(in crate::accounts) async fn seen(tx: &mut Transaction, token: &SecretHash, user: UserId) -> sqlx::Result<bool> {
    let done = tx.query(SEEN).bind(now()).bind(&token.0).bind(user).execute().await?;
    Ok(done.rows == 1)
}

/// Adds a browser, in the place of those used least recently if the user has more than `most`.
pub(in crate::accounts) async fn create(
    tx: &mut Transaction,
    token: &SecretHash,
    user: UserId,
    most: u32,
) -> sqlx::Result<()> {
    tx.query(CREATE).bind(&token.0).bind(user).bind(now()).execute().await?;
    tx.query(DELETE_BEYOND).bind(user).bind(user).bind(most).execute().await.map(|_| ())
}

pub(in crate::accounts) async fn delete_before(db: &Database, time: DateTime<Utc>) -> sqlx::Result<()> {
    db.writer().query(DELETE_OLD).bind(time).execute().await.map(|_| ())
}
