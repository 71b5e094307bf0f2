//! Identities: who people are at the issuer, linked to their accounts. Only the owner of an account links one, by coming back
//! from the issuer (`identity_sign_in`): an admin who could would sign in as the owner. An equal name or e-mail address links
//! nothing.

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
    /// The issuer by which people sign in.
    pub(super) fn issuer(&self) -> Result<&Issuer, AccountsError> {
        Ok(self.context.issuer.as_ref().ok_or(OpenIdError::Off)?)
    }

    /// What people know the issuer by; `None` where nobody signs in by one.
    pub(crate) fn issuer_name(&self) -> Option<&str> {
        self.context.issuer.as_ref().map(|issuer| issuer.settings().name.as_str())
    }

    /// The caller's identities.
    pub(crate) async fn list_identities(&self, caller: &Caller) -> Result<Vec<Identity>, AccountsError> {
        Ok(identities::list(&self.context.db, caller.user).await?)
    }

    /// Somebody's.
    pub(crate) async fn list_identities_of(&self, user: UserId) -> Result<Vec<Identity>, AccountsError> {
        self.find_user(user).await?;
        Ok(identities::list(&self.context.db, user).await?)
    }

    pub(super) async fn store_link(&self, user: UserId, new: &NewIdentityRow) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // First of all, so that of several at once each counts those before.
        users::hold(&mut tx, user).await?;
        if identities::count(&mut tx, user).await? >= MAX_IDENTITIES {
            return Err(OpenIdError::TooMany.into());
        }
        link(&mut tx, Some(user), user, new).await?;
        Ok(tx.commit().await?)
    }

    /// Unlinks one of somebody's identities, unless that is the only way in, and ends the person's sessions, which may have
    /// begun by it. The caller's own stays.
    pub(crate) async fn unlink_identity(&self, caller: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        with_retries(|| self.store_unlinking(caller, user, id)).await?;
        self.context.streams.look_now();
        Ok(())
    }

    /// One of the caller's own.
    pub(crate) async fn unlink_own_identity(&self, caller: &Caller, id: i64) -> Result<(), AccountsError> {
        self.unlink_identity(caller, caller.user, id).await
    }

    async fn store_unlinking(&self, caller: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // First of all, so that of two at once each sees what the other has left.
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

/// Links an identity and notes it; `actor` is nobody who has an account where a person makes an own one by it.
pub(super) async fn link(
    tx: &mut Transaction,
    actor: Option<UserId>,
    user: UserId,
    new: &NewIdentityRow,
) -> Result<(), AccountsError> {
    let taken =
        |error: sqlx::Error| if is_taken(&error) { OpenIdError::Taken.into() } else { AccountsError::from(error) };
    identities::create(tx, user, new).await.map_err(taken)?;
    // Without its label, which names the person: what is noted stays when the account is deleted.
    Ok(audit::note(tx, actor, user, Action::IdentityLinked, "").await?)
}
