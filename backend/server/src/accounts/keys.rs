//! Keys, by which programs ask in a person's name: made, known by what a program shows, listed, and revoked.

use std::net::IpAddr;
use tallybook_database::now;

use chrono::{DateTime, Utc};
use tallybook_protocol::{KeyInfo, MadeKey};

use super::{
    Accounts, AccountsError, Caller, Credential, Password, UserId,
    limits::{MAX_KEY_LIFETIME, MAX_KEYS, SEEN_EXACTNESS},
    names::key_name,
    revoking::revoke_all,
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        keys::{self, NewKeyRow},
        users,
    },
};

/// Keys that the operator's list is read by.
const KEYS_AT_ONCE: u32 = 1000;

/// A key to be made.
#[derive(Debug)]
pub(crate) struct NewKey {
    pub(crate) name: String,
    /// `None` for a key that does not expire.
    pub(crate) expires_at: Option<DateTime<Utc>>,
}

impl Accounts {
    /// Creates a key and returns its secret, which is not stored. A key outlasts the session, so a session alone does not
    /// create one: see `prove_ownership`.
    pub(crate) async fn create_key(
        &self,
        caller: &Caller,
        wanted: NewKey,
        password: Option<Password>,
        address: IpAddr,
    ) -> Result<MadeKey, AccountsError> {
        let NewKey { name, expires_at } = wanted;
        let name = key_name(&name)?;
        if expires_at.is_some_and(|at| at <= now() || at > now() + MAX_KEY_LIFETIME) {
            let problem =
                "A key expires in the future, within ten years. Leave expires_at out for a key that does not expire.";
            return Err(AccountsError::Invalid(problem.to_owned()));
        }
        self.prove_ownership(caller, password, address).await?;
        let secret = Secret::make_key()?;
        let prefix = secret.prefix().to_owned();
        let new = NewKeyRow { user: caller.user, hash: secret.hash(), prefix: prefix.clone(), name, expires_at };
        let id = with_retries(|| self.store_key(&new)).await?;
        Ok(MadeKey { id, key: secret.expose().to_owned(), prefix })
    }

    async fn store_key(&self, new: &NewKeyRow) -> Result<i64, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // First of all, so that of several at once each counts those before.
        users::hold(&mut tx, new.user).await?;
        if keys::count(&mut tx, new.user).await? >= MAX_KEYS {
            return Err(AccountsError::TooManyKeys);
        }
        let id = keys::create(&mut tx, new).await?;
        audit::note(&mut tx, Some(new.user), new.user, Action::KeyCreated, &new.prefix).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Whose key this is.
    pub(crate) async fn identify_key(&self, shown: &str) -> Result<Option<Caller>, AccountsError> {
        let Some(hash) = SecretHash::of_key(shown) else { return Ok(None) };
        let db = &self.context.db;
        let Some(row) = keys::find(db, &hash).await? else { return Ok(None) };
        let (id, time) = (row.id, now());
        if row.seen_at.is_none_or(|seen| time - seen >= SEEN_EXACTNESS) {
            // Whoever only reads can do so on a database that cannot be written to.
            if let Err(error) = keys::used(db, id, time).await {
                tracing::warn!(%error, "when a key was last used could not be stored");
            }
        }
        Ok(Some(row.into_caller(Credential::Key(id))))
    }

    /// The caller's keys, the newest first.
    pub(crate) async fn list_keys(&self, caller: &Caller) -> Result<Vec<KeyInfo>, AccountsError> {
        Ok(keys::list(&self.context.db, caller.user).await?)
    }

    /// Revokes one of the caller's keys.
    pub(crate) async fn revoke_key(&self, caller: &Caller, id: i64) -> Result<(), AccountsError> {
        self.revoke_key_of(caller, caller.user, id).await
    }

    /// A user's keys, the newest first: for admins.
    pub(crate) async fn list_keys_of(&self, user: UserId) -> Result<Vec<KeyInfo>, AccountsError> {
        self.find_user(user).await?;
        Ok(keys::list(&self.context.db, user).await?)
    }

    /// Revokes one of a user's keys: for admins.
    pub(crate) async fn revoke_key_of(&self, admin: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        with_retries(|| self.store_revocation(Some(admin.user), user, id)).await?;
        self.context.streams.look_now();
        Ok(())
    }

    /// Revokes all of a user's keys: for admins.
    pub(crate) async fn revoke_keys_of(&self, admin: &Caller, user: UserId) -> Result<(), AccountsError> {
        self.find_user(user).await?;
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            revoke_all(&mut tx, Some(admin.user), user).await?;
            Ok(tx.commit().await?)
        };
        with_retries(store).await?;
        self.context.streams.look_now();
        Ok(())
    }

    /// Everybody's keys, each with whose it is, in the order in which they were made: for the operator.
    pub async fn list_all_keys(&self) -> Result<Vec<(String, KeyInfo)>, AccountsError> {
        let (mut all, mut last) = (Vec::new(), 0);
        loop {
            let page = keys::list_of_all(&self.context.db, last, KEYS_AT_ONCE).await?;
            let Some((_, end)) = page.last() else { return Ok(all) };
            last = end.id;
            all.extend(page);
        }
    }

    /// Revokes anybody's key: for the operator.
    pub async fn revoke_any_key(&self, id: i64) -> Result<(), AccountsError> {
        let owner = keys::find_owner(&self.context.db, id).await?.ok_or(AccountsError::NoSuchKey)?;
        with_retries(|| self.store_revocation(None, owner, id)).await
    }

    /// Without an `actor` it was the operator.
    async fn store_revocation(&self, actor: Option<UserId>, user: UserId, id: i64) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let prefix = keys::revoke(&mut tx, user, id).await?.ok_or(AccountsError::NoSuchKey)?;
        audit::note(&mut tx, actor, user, Action::KeyRevoked, &prefix).await?;
        Ok(tx.commit().await?)
    }
}
