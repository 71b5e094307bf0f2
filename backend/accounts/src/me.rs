//! The caller's own account: profile and instructions, change of password, deletion, and proof of ownership.
//! Administration of accounts is in `users`.

use std::net::IpAddr;

use tallybook_database::now;
use tallybook_protocol::{MAX_INSTRUCTIONS_CHARS, Me, UpdateMe, UserRole};

use super::{
    Accounts, AccountsError, Caller, Credential, Password,
    key_revocation::revoke_all,
    limits::MAX_PROOF_AGE,
    service::with_retries,
    store::{
        attempts,
        audit::{self, Action},
        budgets, identities, sessions, users,
    },
    throttle::Subject,
};

impl Accounts {
    /// Returns the caller's profile and settings.
    pub async fn find_me(&self, caller: &Caller) -> Result<Me, AccountsError> {
        let instructions = users::find_instructions(&self.context.db, caller.user).await?;
        let has_password = users::has_password(&self.context.db, caller.user).await?;
        let name = caller.name.as_deref().map(ToOwned::to_owned);
        let issuer = self.identity_provider_name().map(ToOwned::to_owned);
        Ok(Me { name, role: caller.role, has_password, instructions, issuer, ..Me::default() })
    }

    /// Changes the fields that `update` contains, and returns the new profile. Fails with `Invalid` if the instructions
    /// are too long or contain a NUL character.
    pub async fn update_me(&self, caller: &Caller, update: UpdateMe) -> Result<Me, AccountsError> {
        if let Some(instructions) = update.instructions {
            let instructions = instructions.trim();
            if instructions.chars().count() > MAX_INSTRUCTIONS_CHARS {
                return Err(AccountsError::Invalid(format!(
                    "Instructions can have at most {MAX_INSTRUCTIONS_CHARS} characters. Shorten them."
                )));
            }
            if instructions.contains('\0') {
                let message = "The instructions contain a NUL character. Remove it and try again.";
                return Err(AccountsError::Invalid(message.to_owned()));
            }
            users::update_instructions(&self.context.db, caller.user, instructions).await?;
        }
        self.find_me(caller).await
    }

    /// Changes the caller's password and ends the caller's other sessions. Also revokes the API keys if `revoke_keys`
    /// is set.
    pub async fn change_password(
        &self,
        caller: &Caller,
        current: Password,
        new: Password,
        revoke_keys: bool,
        address: IpAddr,
    ) -> Result<(), AccountsError> {
        let old = self.confirm(caller, current, address).await?;
        let new = self.context.hasher.hash(new, caller.name.as_deref().unwrap_or_default()).await?;
        with_retries(|| self.store_own_password(caller, &old, &new, revoke_keys)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    async fn store_own_password(
        &self,
        caller: &Caller,
        old: &str,
        new: &str,
        revoke_keys: bool,
    ) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        if !users::replace_password(&mut tx, caller.user, old, new).await? {
            return Err(AccountsError::WrongPassword);
        }
        match caller.credential {
            Credential::Session(id) => sessions::delete_others(&mut tx, caller.user, id).await?,
            Credential::Local | Credential::Key(_) => sessions::delete_all(&mut tx, caller.user).await?,
        }
        if revoke_keys {
            revoke_all(&mut tx, Some(caller.user), caller.user).await?;
        }
        audit::note(&mut tx, Some(caller.user), caller.user, Action::PasswordChanged, "").await?;
        Ok(tx.commit().await?)
    }

    /// Deletes the caller's account permanently. Sign-in and API keys stop working, and only admins can still read its
    /// conversations, within the limits of admin access. The caller must prove ownership of the account
    /// (`prove_ownership`). Fails with `LastAdmin` for the only admin, and with `Off` on a server without accounts.
    pub async fn delete_me(&self, caller: &Caller, password: Password, address: IpAddr) -> Result<(), AccountsError> {
        if caller.name.is_none() {
            return Err(AccountsError::Off);
        }
        let hash = self.prove_ownership(caller, Some(password), address).await?;
        with_retries(|| self.store_deletion(caller, hash.as_deref())).await?;
        self.context.streams.check_now();
        Ok(())
    }

    async fn store_deletion(&self, caller: &Caller, hash: Option<&str>) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Must be the first statement: until this transaction ends, no other transaction can change who is an admin.
        let has_other_admin = users::has_other_admin(&mut tx, Some(caller.user), self.issuer_url()).await?;
        let user = users::find_in(&mut tx, caller.user).await?.ok_or(AccountsError::NoSuchUser)?;
        if user.role == UserRole::Admin && !has_other_admin {
            return Err(AccountsError::LastAdmin);
        }
        if !users::delete(&mut tx, caller.user, hash).await? {
            return Err(AccountsError::WrongPassword);
        }
        sessions::delete_all(&mut tx, caller.user).await?;
        revoke_all(&mut tx, Some(caller.user), caller.user).await?;
        // A later sign-in with one of these identities belongs to a new account.
        identities::delete_all(&mut tx, caller.user).await?;
        budgets::delete_of(&mut tx, caller.user).await?;
        audit::note(&mut tx, Some(caller.user), caller.user, Action::AccountDeleted, "").await?;
        Ok(tx.commit().await?)
    }

    /// Checks that the caller owns the account: with the password if the account has one, otherwise with a sign-in
    /// within the last ten minutes. Returns the hash of the password, if there is one. Succeeds without a check if the
    /// caller has no session: on a server without accounts, and for API keys, which the routes refuse.
    pub(crate) async fn prove_ownership(
        &self,
        caller: &Caller,
        password: Option<Password>,
        address: IpAddr,
    ) -> Result<Option<String>, AccountsError> {
        let Credential::Session(id) = caller.credential else { return Ok(None) };
        if users::has_password(&self.context.db, caller.user).await? {
            let password = password.ok_or(AccountsError::PasswordNeeded)?;
            return self.confirm(caller, password, address).await.map(Some);
        }
        let is_fresh = sessions::is_newer(&self.context.db, id, now() - MAX_PROOF_AGE).await?;
        if is_fresh { Ok(None) } else { Err(AccountsError::SignInAgain) }
    }

    /// Checks the caller's password and returns its hash. An attacker with an open session must not be able to guess
    /// the password, so failures cause delays as for sign-in. They count for the network, and for this user on a
    /// counter that sign-in attempts do not change.
    pub(crate) async fn confirm(
        &self,
        caller: &Caller,
        password: Password,
        address: IpAddr,
    ) -> Result<String, AccountsError> {
        let Some(name) = caller.name.as_deref() else { return Err(AccountsError::Off) };
        let (tried, address) = (Subject::confirmation(caller.user), Subject::address(address));
        let attempt = self.count_attempt(&address).await?;
        self.count_attempt(&tried).await?;
        let db = &self.context.db;
        let row = users::find_password(db, name).await?;
        let hash = row.filter(|row| row.id == caller.user).and_then(|row| row.password_hash);
        let has_password = hash.is_some();
        if !self.context.hasher.verify(password, hash.clone()).await? && has_password {
            return Err(AccountsError::WrongPassword);
        }
        // If the account has no password, there is nothing to guess, so the attempt does not count as a failure either.
        attempts::forget(db, &tried).await?;
        attempts::forgive(db, &address, &attempt).await?;
        hash.ok_or(AccountsError::NoPassword)
    }
}
