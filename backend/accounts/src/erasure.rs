//! Erases an account on behalf of the operator. The account ends at once. Conversations are erased by the caller, and
//! the user's name is replaced last, so that an interrupted erasure can be repeated with the same name.

use tallybook_protocol::UserRole;

use super::{
    Accounts, AccountsError, Password, UserId,
    key_revocation::revoke_all,
    names::replace_name,
    secret::Secret,
    service::with_retries,
    store::{
        attempts,
        audit::{self, Action, MentionRow},
        erasure, identities, sessions, users,
    },
    throttle::Subject,
};

impl Accounts {
    /// Ends an account permanently: sessions, API keys, identities and instructions. Returns the user's ID. Records the
    /// erasure in the audit log, again if it is repeated. Fails with `NoSuchUser` if no user has this name, and with
    /// `LastAdmin` for the only admin.
    pub async fn begin_erasure(&self, name: &str) -> Result<UserId, AccountsError> {
        let user = self.find_by_name(name).await?.ok_or(AccountsError::NoSuchUser)?.id;
        with_retries(|| self.end_account(user)).await?;
        self.context.streams.check_now();
        Ok(user)
    }

    async fn end_account(&self, user: UserId) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Must be the first statement: until this transaction ends, no other transaction can change who is an admin.
        let has_other_admin = users::has_other_admin(&mut tx, Some(user), self.issuer_url()).await?;
        let row = users::find_in(&mut tx, user).await?.ok_or(AccountsError::NoSuchUser)?;
        if row.role == UserRole::Admin && row.deactivated_at.is_none() && !has_other_admin {
            return Err(AccountsError::LastAdmin);
        }
        erasure::end(&mut tx, user).await?;
        sessions::delete_all(&mut tx, user).await?;
        revoke_all(&mut tx, None, user).await?;
        identities::delete_all(&mut tx, user).await?;
        audit::note(&mut tx, None, user, Action::AccountErased, "").await?;
        Ok(tx.commit().await?)
    }

    /// Deletes the rest of an account whose conversations are erased, and replaces the user's name with a pseudonym: in
    /// the account, which statistics and the audit log refer to, and in reasons and filters of the audit log. Returns
    /// the pseudonym.
    pub async fn finish_erasure(&self, user: UserId) -> Result<String, AccountsError> {
        let db = &self.context.db;
        let name = users::find(db, user).await?.ok_or(AccountsError::NoSuchUser)?.name;
        let pseudonym = pseudonym(user);
        while erasure::delete_keys(db, user).await? > 0 {}
        attempts::forget(db, &Subject::name(&name)).await?;
        attempts::forget(db, &Subject::confirmation(user)).await?;
        self.replace_mentions(&name, &pseudonym).await?;
        // Without a password, the next first admin would get the local user's row.
        let password = Password::new(Secret::make()?.expose());
        let hash = if user == UserId::LOCAL { Some(self.context.hasher.hash(password, "").await?) } else { None };
        with_retries(|| self.store_pseudonym(user, &pseudonym, hash.as_deref())).await?;
        Ok(pseudonym)
    }

    async fn store_pseudonym(&self, user: UserId, name: &str, hash: Option<&str>) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        erasure::rename(&mut tx, user, name, hash).await?;
        Ok(tx.commit().await?)
    }

    async fn replace_mentions(&self, name: &str, pseudonym: &str) -> Result<(), AccountsError> {
        let db = &self.context.db;
        let mut last = 0;
        loop {
            let rows = audit::list_with_reason(db, last).await?;
            let Some(row) = rows.last() else { return Ok(()) };
            last = row.id;
            for MentionRow { id, subject, reason } in rows {
                let (new_subject, new_reason) =
                    (replace_name(&subject, name, pseudonym), replace_name(&reason, name, pseudonym));
                if new_subject.is_some() || new_reason.is_some() {
                    let (subject, reason) = (new_subject.unwrap_or(subject), new_reason.unwrap_or(reason));
                    audit::replace_mentions(db, id, &subject, &reason).await?;
                }
            }
        }
    }
}

/// Returns the name of an erased user. No account can have it, because names cannot contain `#`.
fn pseudonym(user: UserId) -> String {
    format!("erased#{}", user.0)
}
