//! Keys, by which programs ask in a person's name: made, known by what a program shows, listed, and revoked.

use tallybook_protocol::{KeyInfo, MadeKey};

use super::{
    Accounts, AccountsError, Caller, Credential, UserId,
    limits::{MAX_KEYS, SEEN_EXACTNESS},
    names::key_name,
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        keys::{self, NewKeyRow},
    },
};
use crate::db::now;

/// Keys that the operator's list is read by.
const KEYS_AT_ONCE: u32 = 1000;

impl Accounts {
    /// Makes a key, which is told this once.
    pub(crate) async fn create_key(&self, caller: &Caller, name: &str) -> Result<MadeKey, AccountsError> {
        let secret = Secret::make_key()?;
        let prefix = secret.prefix().to_owned();
        let new = NewKeyRow { user: caller.user, hash: secret.hash(), prefix: prefix.clone(), name: key_name(name)? };
        let id = with_retries(|| self.store_key(&new)).await?;
        Ok(MadeKey { id, key: secret.expose().to_owned(), prefix })
    }

    async fn store_key(&self, new: &NewKeyRow) -> Result<i64, AccountsError> {
        let mut tx = self.context.db.begin().await?;
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
        with_retries(|| self.store_revocation(Some(caller.user), caller.user, id)).await?;
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
