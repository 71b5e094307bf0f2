//! Creates, identifies, lists and revokes API keys. A request with an API key is made on behalf of the key's user.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use tallybook_database::now;
use tallybook_protocol::{CreatedKey, KeyInfo};

use super::{
    Accounts, AccountsError, Caller, Credential, Password, UserId,
    key_revocation::revoke_all,
    limits::{LAST_USED_RESOLUTION, MAX_KEY_LIFETIME, MAX_KEYS},
    names::key_name,
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        keys::{self, NewKeyRow},
        users,
    },
};

/// Number of API keys that one query reads for the operator's list.
const KEYS_AT_ONCE: u32 = 1000;

/// An API key to create.
#[derive(Debug)]
pub struct NewKey {
    /// Name that the owner gives the key.
    pub name: String,
    /// Expiration time; `None` for a key that does not expire.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Accounts {
    /// Creates an API key and returns its secret, which is not stored. The key outlasts the session, so the caller must
    /// also prove ownership of the account (`prove_ownership`).
    pub async fn create_key(
        &self,
        caller: &Caller,
        wanted: NewKey,
        password: Option<Password>,
        address: IpAddr,
    ) -> Result<CreatedKey, AccountsError> {
        let NewKey { name, expires_at } = wanted;
        let name = key_name(&name)?;
        if expires_at.is_some_and(|at| at <= now() || at > now() + MAX_KEY_LIFETIME) {
            let problem =
                "expires_at must be in the future and within ten years. Omit it for a key that does not expire.";
            return Err(AccountsError::Invalid(problem.to_owned()));
        }
        self.prove_ownership(caller, password, address).await?;
        let secret = Secret::make_key()?;
        let prefix = secret.prefix().to_owned();
        let new = NewKeyRow { user: caller.user, hash: secret.hash(), prefix: prefix.clone(), name, expires_at };
        let id = with_retries(|| self.store_key(&new)).await?;
        Ok(CreatedKey { id, key: secret.expose().to_owned(), prefix })
    }

    async fn store_key(&self, new: &NewKeyRow) -> Result<i64, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Serializes concurrent requests of the user, so that each request counts the keys that earlier ones created.
        users::lock_user(&mut tx, new.user).await?;
        if keys::count(&mut tx, new.user).await? >= MAX_KEYS {
            return Err(AccountsError::TooManyKeys);
        }
        let id = keys::create(&mut tx, new).await?;
        audit::note(&mut tx, Some(new.user), new.user, Action::KeyCreated, &new.prefix).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Finds the user of an API key. Returns `None` if no valid key matches. Also updates the key's last-used time.
    pub async fn identify_key(&self, shown: &str) -> Result<Option<Caller>, AccountsError> {
        let Some(hash) = SecretHash::of_key(shown) else { return Ok(None) };
        let db = &self.context.db;
        let Some(row) = keys::find(db, &hash).await? else { return Ok(None) };
        let (id, time) = (row.id, now());
        if row.seen_at.is_none_or(|seen| time - seen >= LAST_USED_RESOLUTION) {
            // A failed write is only logged, so that read requests work while the database is read-only.
            if let Err(error) = keys::used(db, id, time).await {
                tracing::warn!(%error, "cannot store the time of an API key's last use");
            }
        }
        Ok(Some(row.into_caller(Credential::Key(id))))
    }

    /// Lists the caller's API keys, newest first.
    pub async fn list_keys(&self, caller: &Caller) -> Result<Vec<KeyInfo>, AccountsError> {
        Ok(keys::list(&self.context.db, caller.user).await?)
    }

    /// Revokes one of the caller's API keys. Fails with `NoSuchKey` if the caller has no unrevoked key with this ID.
    pub async fn revoke_key(&self, caller: &Caller, id: i64) -> Result<(), AccountsError> {
        self.revoke_key_of(caller, caller.user, id).await
    }

    /// Lists a user's API keys, newest first, for admins.
    pub async fn list_keys_of(&self, user: UserId) -> Result<Vec<KeyInfo>, AccountsError> {
        self.find_user(user).await?;
        Ok(keys::list(&self.context.db, user).await?)
    }

    /// Revokes one of a user's API keys, for admins.
    pub async fn revoke_key_of(&self, admin: &Caller, user: UserId, id: i64) -> Result<(), AccountsError> {
        with_retries(|| self.store_revocation(Some(admin.user), user, id)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    /// Revokes all of a user's API keys, for admins.
    pub async fn revoke_keys_of(&self, admin: &Caller, user: UserId) -> Result<(), AccountsError> {
        self.find_user(user).await?;
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            revoke_all(&mut tx, Some(admin.user), user).await?;
            Ok(tx.commit().await?)
        };
        with_retries(store).await?;
        self.context.streams.check_now();
        Ok(())
    }

    /// Lists the API keys of all users, each with the user's name, oldest first. For the operator.
    pub async fn list_all_keys(&self) -> Result<Vec<(String, KeyInfo)>, AccountsError> {
        let (mut all, mut last) = (Vec::new(), 0);
        loop {
            let page = keys::list_of_all(&self.context.db, last, KEYS_AT_ONCE).await?;
            let Some((_, end)) = page.last() else { return Ok(all) };
            last = end.id;
            all.extend(page);
        }
    }

    /// Revokes an API key of any user, for the operator.
    pub async fn revoke_any_key(&self, id: i64) -> Result<(), AccountsError> {
        let owner = keys::find_owner(&self.context.db, id).await?.ok_or(AccountsError::NoSuchKey)?;
        with_retries(|| self.store_revocation(None, owner, id)).await
    }

    /// Revokes an API key and records that in the audit log. `actor` is `None` for the operator.
    async fn store_revocation(&self, actor: Option<UserId>, user: UserId, id: i64) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let prefix = keys::revoke(&mut tx, user, id).await?.ok_or(AccountsError::NoSuchKey)?;
        audit::note(&mut tx, actor, user, Action::KeyRevoked, &prefix).await?;
        Ok(tx.commit().await?)
    }
}
