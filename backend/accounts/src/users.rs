//! Administration of accounts: create, list, update, deactivate, set passwords. Invitations, with which users create
//! their own accounts, are in `links`.

use serde::Deserialize;
use tallybook_database::{Transaction, is_unique_violation, now};
use tallybook_protocol::{Page, User, UserRole};

use super::{
    Accounts, AccountsError, Caller, Password, UserId,
    key_revocation::revoke_all,
    limits::{MAX_USERS, USERS_PER_PAGE},
    names::{UserName, spellings},
    service::with_retries,
    store::{
        audit::{self, Action},
        sessions,
        users::{self, NO_USER, NewUserRow, PasswordRow},
    },
};

/// Changes to an account by an admin.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserUpdate {
    /// New role, if it changes.
    pub role: Option<UserRole>,
    /// `false` deactivates the account, `true` reactivates it.
    pub active: Option<bool>,
}

impl Accounts {
    /// Lists a page of accounts, oldest first. `cursor` is the previous page's `next_cursor`. Fails with `Invalid` for
    /// any other cursor.
    pub async fn list_users(&self, cursor: Option<&str>) -> Result<Page<User>, AccountsError> {
        let after = match cursor {
            None => NO_USER,
            Some(cursor) => {
                let bad = |_| {
                    AccountsError::Invalid(
                        "The cursor is not valid. Use next_cursor from the previous page.".to_owned(),
                    )
                };
                UserId(cursor.parse().map_err(bad)?)
            }
        };
        let rows = users::list(&self.context.db, after, USERS_PER_PAGE).await?;
        let is_full = rows.len() == USERS_PER_PAGE as usize;
        let next_cursor = rows.last().filter(|_| is_full).map(|row| row.id.0.to_string());
        Ok(Page { items: rows.into_iter().map(User::from).collect(), next_cursor })
    }

    /// Returns an account. Fails with `NoSuchUser` if it does not exist.
    pub async fn find_user(&self, id: UserId) -> Result<User, AccountsError> {
        Ok(users::find(&self.context.db, id).await?.ok_or(AccountsError::NoSuchUser)?.into())
    }

    /// Creates an account with a password, which the admin must pass on to the user.
    pub async fn create_user(
        &self,
        admin: &Caller,
        name: &str,
        password: Password,
        role: UserRole,
    ) -> Result<User, AccountsError> {
        let new = self.new_user(name, password, role).await?;
        let id = with_retries(|| self.store_user(admin.user, &new)).await?;
        self.find_user(id).await
    }

    async fn store_user(&self, admin: UserId, new: &NewUserRow) -> Result<UserId, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        let id = create_account(&mut tx, Some(admin), new).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Changes an account's role or activation. If anything changes, the account's open streams end. Deactivation also
    /// ends its sessions and revokes its API keys. Fails with `LastAdmin` if no admin would be left.
    pub async fn update_user(&self, admin: &Caller, id: UserId, update: UserUpdate) -> Result<User, AccountsError> {
        with_retries(|| self.store_update(admin.user, id, update)).await?;
        self.context.streams.check_now();
        self.find_user(id).await
    }

    async fn store_update(&self, admin: UserId, id: UserId, update: UserUpdate) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Must be the first statement: until this transaction ends, no other transaction can change who is an admin.
        let has_other_admin = users::has_other_admin(&mut tx, Some(id), self.issuer_url()).await?;
        let user = users::find_in(&mut tx, id).await?.ok_or(AccountsError::NoSuchUser)?;
        if user.deleted_at.is_some() {
            return Err(AccountsError::Deleted);
        }
        let (was, was_active) = (user.role, user.deactivated_at.is_none());
        let (role, is_active) = (update.role.unwrap_or(was), update.active.unwrap_or(was_active));
        let is_admin = |role, active| role == UserRole::Admin && active;
        if is_admin(was, was_active) && !is_admin(role, is_active) && !has_other_admin {
            return Err(AccountsError::LastAdmin);
        }
        if role == was && is_active == was_active {
            return Ok(());
        }
        let deactivated_at = if is_active { None } else { user.deactivated_at.or_else(|| Some(now())) };
        users::update(&mut tx, id, role, deactivated_at).await?;
        if role != was {
            audit::note(&mut tx, Some(admin), id, Action::RoleChanged, role.as_str()).await?;
        }
        if was_active && !is_active {
            sessions::end_all_of_deactivated(&mut tx, id).await?;
            // Reactivation of the account must not restore the access of API clients.
            revoke_all(&mut tx, Some(admin), id).await?;
            audit::note(&mut tx, Some(admin), id, Action::UserDeactivated, "").await?;
        } else if is_active && !was_active {
            sessions::delete_all(&mut tx, id).await?;
            audit::note(&mut tx, Some(admin), id, Action::UserReactivated, "").await?;
        }
        Ok(tx.commit().await?)
    }

    /// Sets an account's password, ends its sessions, and revokes its keys if `revoke_keys` is set.
    pub async fn set_password(
        &self,
        admin: &Caller,
        id: UserId,
        password: Password,
        revoke_keys: bool,
    ) -> Result<(), AccountsError> {
        let user = self.find_user(id).await?;
        let hash = self.context.hasher.hash(password, &user.name).await?;
        with_retries(|| self.store_password(Some(admin.user), id, &hash, revoke_keys)).await?;
        self.context.streams.check_now();
        Ok(())
    }

    /// Sets an account's password like [`Self::set_password`], for the operator, who identifies the account by name.
    pub async fn reset_password(&self, name: &str, password: Password, revoke_keys: bool) -> Result<(), AccountsError> {
        let user = self.find_by_name(name).await?.ok_or(AccountsError::NoSuchUser)?;
        let hash = self.context.hasher.hash(password, name).await?;
        with_retries(|| self.store_password(None, user.id, &hash, revoke_keys)).await
    }

    /// Finds an account by a name as it was entered.
    pub(crate) async fn find_by_name(&self, entered: &str) -> Result<Option<PasswordRow>, AccountsError> {
        for name in spellings(entered) {
            let found = users::find_password(&self.context.db, &name).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Lists all accounts, for the operator.
    pub async fn list_all_users(&self) -> Result<Vec<User>, AccountsError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.list_users(cursor.as_deref()).await?;
            all.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    async fn store_password(
        &self,
        admin: Option<UserId>,
        id: UserId,
        hash: &str,
        revoke_keys: bool,
    ) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        users::update_password(&mut tx, id, hash).await?;
        sessions::delete_all(&mut tx, id).await?;
        if revoke_keys {
            revoke_all(&mut tx, admin, id).await?;
        }
        audit::note(&mut tx, admin, id, Action::PasswordChanged, "").await?;
        Ok(tx.commit().await?)
    }

    /// Checks the name and the password of a new account, and returns its row. Fails with `Invalid` if either breaks a
    /// rule.
    pub(crate) async fn new_user(
        &self,
        name: &str,
        password: Password,
        role: UserRole,
    ) -> Result<NewUserRow, AccountsError> {
        let name = UserName::parse(name)?.as_str().to_owned();
        let hash = self.context.hasher.hash(password, &name).await?;
        Ok(NewUserRow { name, password_hash: Some(hash), role })
    }
}

/// Creates an account and records that in the audit log.
pub(crate) async fn create_account(
    tx: &mut Transaction,
    actor: Option<UserId>,
    new: &NewUserRow,
) -> Result<UserId, AccountsError> {
    // Serializes concurrent requests, so that each request sees the accounts that earlier ones created.
    users::lock_user(tx, UserId::LOCAL).await?;
    check_name(tx, &new.name).await?;
    if users::count(tx).await? >= MAX_USERS {
        return Err(AccountsError::TooManyUsers);
    }
    let id = users::create(tx, new).await.map_err(name_taken)?;
    audit::note(tx, actor, id, Action::UserCreated, new.role.as_str()).await?;
    Ok(id)
}

/// Fails with `NameConfusing` if the name looks like the name of another account.
pub(crate) async fn check_name(tx: &mut Transaction, name: &str) -> Result<(), AccountsError> {
    if users::has_alike(tx, name).await? { Err(AccountsError::NameConfusing) } else { Ok(()) }
}

pub(crate) fn name_taken(error: sqlx::Error) -> AccountsError {
    if is_unique_violation(&error) { AccountsError::NameTaken } else { error.into() }
}
