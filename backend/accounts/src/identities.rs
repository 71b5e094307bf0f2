//! Identities: users' accounts at the identity provider, linked to their accounts here. Only the owner of an account can link one, in
//! the callback from the provider (`identity_sign_in`). If admins could, they could sign in as the owner. Accounts are never linked
//! because of an equal name or email address.

use tallybook_database::Transaction;
use tallybook_protocol::Identity;

use super::{
    Accounts, AccountsError, Caller, Credential, UserId,
    limits::MAX_IDENTITIES,
    openid::{Issuer, OpenIdError},
    service::with_retries,
    store::{
        audit::{self, Action},
        identities::{self, NewIdentityRow},
        is_taken, sessions, users,
    },
};

impl Accounts {
    /// Returns the identity provider. Fails with `OpenIdError::Off` if none is configured.
    pub(crate) fn issuer(&self) -> Result<&Issuer, AccountsError> {
        Ok(self.context.issuer.as_ref().ok_or(OpenIdError::Off)?)
    }

    /// Returns the display name of the identity provider, or `None` if none is configured.
    pub fn issuer_name(&self) -> Option<&str> {
        self.context.issuer.as_ref().map(|issuer| issuer.settings().name.as_str())
    }

    /// Lists the caller's identities.
    pub async fn list_identities(&self, caller: &Caller) -> Result<Vec<Identity>, AccountsError> {
        Ok(identities::list(&self.context.db, caller.user).await?)
    }

    /// Lists a user's identities, for admins.
    pub async fn list_identities_of(&self, user: UserId) -> Result<Vec<Identity>, AccountsError> {
        self.find_user(user).await?;
        Ok(identities::list(&self.context.db, user).await?)
    }

    pub(crate) async fn store_link(&self, user: UserId, new: &NewIdentityRow) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Holds the user first, so that each of several concurrent requests counts the identities of those before it.
        users::hold(&mut tx, user).await?;
        if identities::count(&mut tx, user).await? >= MAX_IDENTITIES {
            return Err(OpenIdError::TooMany.into());
        }
        link(&mut tx, Some(user), user, new).await?;
        Ok(tx.commit().await?)
    }

    /// Unlinks one of a user's identities, and ends the user's sessions, which may have begun with it. The caller's current session
    /// stays open. Fails with `OnlyWayIn` if the user could not sign in any more.
    pub async fn unlink_identity(&self, caller: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        with_retries(|| self.store_unlinking(caller, user, id)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    /// Unlinks one of the caller's own identities.
    pub async fn unlink_own_identity(&self, caller: &Caller, id: i64) -> Result<(), AccountsError> {
        self.unlink_identity(caller, caller.user, id).await
    }

    async fn store_unlinking(&self, caller: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Holds the user first, so that of two concurrent requests the second sees which identities the first has left.
        users::hold(&mut tx, user).await?;
        if !identities::delete(&mut tx, user, id).await? {
            return Err(OpenIdError::NoSuchIdentity.into());
        }
        if !users::has_way_in(&mut tx, user, self.issuer_address()).await? {
            return Err(OpenIdError::OnlyWayIn.into());
        }
        if let Credential::Session(own) = caller.credential
            && caller.user == user
        {
            sessions::delete_others(&mut tx, user, own).await?;
        } else {
            sessions::delete_all(&mut tx, user).await?;
        }
        audit::note(&mut tx, Some(caller.user), user, Action::IdentityUnlinked, "").await?;
        Ok(tx.commit().await?)
    }
}

/// Links an identity and records that in the audit log. `actor` is `None` if the account is just being created with the identity.
/// Fails with `Taken` if the identity is already linked.
pub(crate) async fn link(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    new: &NewIdentityRow,
) -> Result<(), AccountsError> {
    let taken =
        |error: sqlx::Error| if is_taken(&error) { OpenIdError::Taken.into() } else { AccountsError::from(error) };
    identities::create(tx, user, new).await.map_err(taken)?;
    // Records no label, since it identifies the user, and audit log rows outlast the deletion of the account.
    Ok(audit::note(tx, actor, user, Action::IdentityLinked, "").await?)
}
