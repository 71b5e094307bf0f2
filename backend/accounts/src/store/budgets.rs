//! SQL on `budgets`: the end of a user's budgets. The crate of the settings that change while the server runs sets
//! them.

use tallybook_database::Transaction;

use crate::UserId;

/// Deletes the budgets of a user.
pub(crate) async fn delete_of(tx: &mut Transaction, user: UserId) -> sqlx::Result<()> {
    let principal = format!("user:{}", user.0);
    tx.query("DELETE FROM budgets WHERE principal = ?").bind(principal).execute().await.map(|_| ())
}
