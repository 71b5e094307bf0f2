//! Revokes all of a user's keys: on deactivation, and with a new password or a sign-out everywhere if the user asks for that.

use super::{
    AccountsError, UserId,
    store::{
        audit::{self, Action},
        keys,
    },
};
use tallybook_database::Transaction;

/// Revokes all of a user's keys.
pub(super) async fn revoke_all(tx: &mut Transaction, actor: Option<UserId>, user: UserId) -> Result<(), AccountsError> {
    if keys::revoke_all(tx, user).await? {
        audit::note(tx, actor, user, Action::KeysRevoked, "").await?;
    }
    Ok(())
}
