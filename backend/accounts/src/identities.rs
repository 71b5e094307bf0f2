//! Lists and unlinks identities: users' accounts at the identity provider that are linked to their Tallybook accounts.
//! Only the owner of an account can link an identity, in the provider's callback (`identity_sign_in`). An admin who
//! could link one could sign in as the owner. An equal name or email address never links accounts.

use tallybook_database::{Transaction, is_unique_violation};
use tallybook_protocol::Identity;

use super::{
    Accounts, AccountsError, Caller, Credential, UserId,
    limits::MAX_IDENTITIES,
    openid::{IdentityProvider, OpenIdError},
    service::with_retries,
    store::{
        audit::{self, Action},
        identities::{self, NewIdentityRow},
        sessions, users,
    },
};

impl Accounts {
    /// Returns the identity provider. Fails with `OpenIdError::Off` if none is configured.
    pub(crate) fn identity_provider(&self) -> Result<&IdentityProvider, AccountsError> {
        Ok(self.context.identity_provider.as_ref().ok_or(OpenIdError::Off)?)
    }

    /// Returns the display name of the identity provider, or `None` if none is configured.
    pub fn identity_provider_name(&self) -> Option<&str> {
        self.context.identity_provider.as_ref().map(|provider| provider.settings().name.as_str())
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
        // Serializes concurrent requests of the user, so that each request counts the identities that earlier ones
        // linked.
        users::lock_user(&mut tx, user).await?;
        if identities::count(&mut tx, user).await? >= MAX_IDENTITIES {
            return Err(OpenIdError::TooMany.into());
        }
        link(&mut tx, Some(user), user, new).await?;
        Ok(tx.commit().await?)
    }

    /// Unlinks one of a user's identities. Ends the user's sessions except the caller's current one, because they may
    /// have been opened with the identity. Fails with `LastSignInMethod` if the user could no longer sign in.
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
        // Serializes concurrent requests of the user, so that the second request sees which identities the first one
        // left.
        users::lock_user(&mut tx, user).await?;
        if !identities::delete(&mut tx, user, id).await? {
            return Err(OpenIdError::NoSuchIdentity.into());
        }
        if !users::has_way_in(&mut tx, user, self.issuer_url()).await? {
            return Err(OpenIdError::LastSignInMethod.into());
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

/// Links an identity and records that in the audit log. `actor` is `None` if the account is just being created with the
/// identity. Fails with `Taken` if the identity is already linked.
pub(crate) async fn link(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    new: &NewIdentityRow,
) -> Result<(), AccountsError> {
    let taken = |error: sqlx::Error| {
        if is_unique_violation(&error) { OpenIdError::Taken.into() } else { AccountsError::from(error) }
    };
    identities::create(tx, user, new).await.map_err(taken)?;
    // Omits the label: it identifies the user, and audit log rows outlast the account.
    Ok(audit::note(tx, actor, user, Action::IdentityLinked, "").await?)
}
