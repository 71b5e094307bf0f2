//! SQL that erases an account.

use tallybook_database::{Database, Transaction, now, select};

use super::{super::UserId, budgets};

/// Maximum number of API keys that one transaction deletes.
const KEYS_AT_ONCE: u32 = 500;

/// Marks an account as deleted, if it is not yet, and deletes the user's instructions, browsers and invitations.
pub(crate) async fn end(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    let time = now();
    tx.query(
        "UPDATE users SET deactivated_at = COALESCE(deactivated_at, ?), deleted_at = COALESCE(deleted_at, ?), \
         instructions = NULL, generation = generation + 1 WHERE id = ?",
    )
    .bind(time)
    .bind(time)
    .bind(user)
    .execute()
    .await?;
    for delete in [
        "DELETE FROM known_browsers WHERE user_id = ?",
        "DELETE FROM invitations WHERE created_by = ?",
        "DELETE FROM group_members WHERE user_id = ?",
    ] {
        tx.query(delete).bind(user).execute().await?;
    }
    budgets::delete_of(tx, user).await
}

/// Deletes some of a user's API keys. Returns their number; 0 means that none are left.
pub(crate) async fn delete_keys(db: &Database, user: UserId) -> sqlx::Result<usize> {
    let find = select!("SELECT id FROM api_keys WHERE user_id = ? LIMIT ?");
    let keys: Vec<i64> = db.reader().query(find).bind(user).bind(KEYS_AT_ONCE).fetch_values().await?;
    if !keys.is_empty() {
        let mut delete = db.writer().query("DELETE FROM api_keys WHERE id IN (");
        delete.push_list(&keys).push(")");
        delete.execute().await?;
    }
    Ok(keys.len())
}

/// Replaces a user's name and password hash.
pub(crate) async fn rename(tx: &mut Transaction, user: UserId, name: &str, hash: Option<&str>) -> sqlx::Result<()> {
    tx.query("UPDATE users SET name = ?, name_skeleton = NULL, password_hash = ? WHERE id = ?")
        .bind(name)
        .bind(hash)
        .bind(user)
        .execute()
        .await
        .map(|_| ())
}
