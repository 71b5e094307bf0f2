//! One's own account: what a person decides in it, another password, and its end. What admins do to accounts is in `people`.

use std::net::IpAddr;
use tallybook_database::now;

use tallybook_protocol::{MAX_INSTRUCTIONS_CHARS, Me, UpdateMe, UserRole};

use super::{
    Accounts, AccountsError, Caller, Credential, Password,
    limits::FRESH_FOR,
    revoking::revoke_all,
    service::with_retries,
    store::{
        attempts,
        audit::{self, Action},
        identities, sessions, users,
    },
    throttle::Subject,
};

impl Accounts {
    /// What is the caller's own.
    pub(crate) async fn find_me(&self, caller: &Caller) -> Result<Me, AccountsError> {
        let instructions = users::find_instructions(&self.context.db, caller.user).await?;
        let has_password = users::has_password(&self.context.db, caller.user).await?;
        let name = caller.name.as_deref().map(ToOwned::to_owned);
        let issuer = self.issuer_name().map(ToOwned::to_owned);
        Ok(Me { name, role: caller.role, has_password, instructions, issuer, ..Me::default() })
    }

    /// Changes what `update` names of it.
    pub(crate) async fn update_me(&self, caller: &Caller, update: UpdateMe) -> Result<Me, AccountsError> {
        if let Some(instructions) = update.instructions {
            let instructions = instructions.trim();
            if instructions.chars().count() > MAX_INSTRUCTIONS_CHARS {
                return Err(AccountsError::Invalid(format!(
                    "Instructions have at most {MAX_INSTRUCTIONS_CHARS} characters. Shorten them."
                )));
            }
            if instructions.contains('\0') {
                let message = "The instructions contain a NUL character. Remove it and send again.";
                return Err(AccountsError::Invalid(message.to_owned()));
            }
            users::update_instructions(&self.context.db, caller.user, instructions).await?;
        }
        self.find_me(caller).await
    }

    /// Changes the caller's password, ends the caller's other sessions, and revokes the keys if `revoke_keys` is set.
    pub(crate) async fn change_password(
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
        self.context.streams.look_now();
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

    /// Ends the caller's account for good: nobody signs in to it, asks by its keys or sees its conversations any more, but
    /// for what admins may read of them. The only admin cannot.
    pub(crate) async fn delete_me(
        &self,
        caller: &Caller,
        password: Password,
        address: IpAddr,
    ) -> Result<(), AccountsError> {
        let hash = self.confirm(caller, password, address).await?;
        with_retries(|| self.store_deletion(caller, &hash)).await?;
        self.context.streams.look_now();
        Ok(())
    }

    async fn store_deletion(&self, caller: &Caller, hash: &str) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // First of all, since from here on no other transaction changes who the admins are.
        let has_other_admin = users::has_other_admin(&mut tx, Some(caller.user), self.issuer_address()).await?;
        let user = users::find_in(&mut tx, caller.user).await?.ok_or(AccountsError::NoSuchUser)?;
        if user.role == UserRole::Admin && !has_other_admin {
            return Err(AccountsError::LastAdmin);
        }
        if !users::delete(&mut tx, caller.user, hash).await? {
            return Err(AccountsError::WrongPassword);
        }
        sessions::delete_all(&mut tx, caller.user).await?;
        revoke_all(&mut tx, Some(caller.user), caller.user).await?;
        // Whoever comes back by one of them is somebody new.
        identities::delete_all(&mut tx, caller.user).await?;
        audit::note(&mut tx, Some(caller.user), caller.user, Action::AccountDeleted, "").await?;
        Ok(tx.commit().await?)
    }

    /// Checks that the caller owns the account: by the password if the account has one, else by a sign-in of the last ten
    /// minutes. Always succeeds on a server without accounts.
    pub(super) async fn prove_ownership(
        &self,
        caller: &Caller,
        password: Option<Password>,
        address: IpAddr,
    ) -> Result<(), AccountsError> {
        let Credential::Session(id) = caller.credential else { return Ok(()) };
        if users::has_password(&self.context.db, caller.user).await? {
            let password = password.ok_or(AccountsError::PasswordNeeded)?;
            return self.confirm(caller, password, address).await.map(|_| ());
        }
        let is_fresh = sessions::is_newer(&self.context.db, id, now() - FRESH_FOR).await?;
        if is_fresh { Ok(()) } else { Err(AccountsError::SignInAgain) }
    }

    /// Makes sure that it is the caller who asks, and gives the hash of the password. Whoever has found a session open must
    /// not be able to guess it, so attempts count as those to sign in do, but apart from those of strangers.
    pub(super) async fn confirm(
        &self,
        caller: &Caller,
        password: Password,
        address: IpAddr,
    ) -> Result<String, AccountsError> {
        let Some(name) = caller.name.as_deref() else { return Err(AccountsError::Off) };
        let (tried, address) = (Subject::confirmation(caller.user), Subject::address(address));
        self.count_attempt(&address).await?;
        self.count_attempt(&tried).await?;
        let db = &self.context.db;
        let row = users::find_password(db, name).await?;
        let hash = row.filter(|row| row.id == caller.user).and_then(|row| row.password_hash);
        let has_password = hash.is_some();
        if !self.context.hasher.verify(password, hash.clone()).await? && has_password {
            return Err(AccountsError::WrongPassword);
        }
        // Where there is no password, none was guessed either.
        attempts::forget(db, &tried).await?;
        attempts::forgive(db, &address).await?;
        hash.ok_or(AccountsError::NoPassword)
    }
}
