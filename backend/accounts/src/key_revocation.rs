//! Revokes all API keys of a user: on deactivation and deletion, and if requested with a new password or a sign-out
//! everywhere.

use tallybook_database::Transaction;

use super::{
    AccountsError, UserId,
    store::{
        audit::{self, Action},
        keys,
    },
};

/// Revokes all of a user's API keys, and records that in the audit log if there were any.
pub(crate) async fn revoke_all(tx: &mut Transaction, actor: Option<UserId>, user: UserId) -> Result<(), AccountsError> {
    if keys::revoke_all(tx, user).await? {
        audit::note(tx, actor, user, Action::KeysRevoked, "").await?;
    }
    Ok(())
}
