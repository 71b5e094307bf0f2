//! Single-use links: the setup link that creates the first admin, and invitations with which users create their
//! accounts.

use std::net::IpAddr;

use tallybook_database::now;
use tallybook_protocol::{Invitation, InvitationInfo, UserRole};

use super::{
    Accounts, AccountsError, Browser, Caller, NewSession, Password, SignUp, UserId,
    limits::{INVITATION_LIFETIME, MAX_INVITATIONS, SETUP_LIFETIME},
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        links,
        users::{self, NewUserRow},
    },
    throttle::Subject,
    users::{check_name, create_account, name_taken},
};

impl Accounts {
    /// Creates a link for the first admin and returns its path. Returns `None` if there is an admin, or if the server
    /// has no accounts.
    pub async fn create_setup_link(&self) -> Result<Option<String>, AccountsError> {
        if !self.context.settings.required || self.is_set_up().await? {
            return Ok(None);
        }
        let secret = Secret::make()?;
        with_retries(|| self.store_setup_link(&secret)).await?;
        Ok(Some(format!("/setup?token={}", secret.expose())))
    }

    async fn store_setup_link(&self, secret: &Secret) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        links::create(&mut tx, &secret.hash(), UserRole::Admin, None, now() + SETUP_LIFETIME).await?;
        Ok(tx.commit().await?)
    }

    /// Returns `true` if the link can still create the first admin.
    pub async fn is_setup_link(&self, token: &str) -> Result<bool, AccountsError> {
        let Some(hash) = SecretHash::of_token(token) else { return Ok(false) };
        let link = links::find(&self.context.db, &hash).await?;
        Ok(link.is_some_and(|link| link.created_by.is_none()) && !self.is_set_up().await?)
    }

    /// Creates the first admin with a link, and signs the admin in. Fails with `LinkExpired` if the link can no longer
    /// be used.
    pub async fn set_up(
        &self,
        token: &str,
        name: &str,
        password: Password,
        browser: Browser,
    ) -> Result<NewSession, AccountsError> {
        // Checked before the password is hashed, which is slow.
        if !self.is_setup_link(token).await? {
            return Err(AccountsError::LinkExpired);
        }
        let hash = SecretHash::of_token(token);
        let new = self.new_user(name, password, UserRole::Admin).await?;
        let user = with_retries(|| self.store_admin(&new, hash.as_ref())).await?;
        self.open_session(user, browser, None).await
    }

    /// Creates an admin for the operator, who needs no link.
    pub async fn create_admin(&self, name: &str, password: Password) -> Result<(), AccountsError> {
        let new = self.new_user(name, password, UserRole::Admin).await?;
        with_retries(|| self.store_admin(&new, None)).await?;
        Ok(())
    }

    /// Stores an admin. The first one gets the row of the local user, and with it the conversations from before the
    /// server had accounts.
    async fn store_admin(&self, new: &NewUserRow, link: Option<&SecretHash>) -> Result<UserId, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Must be the first statement: until this transaction ends, no other transaction can change who is an admin.
        let has_admin = users::has_other_admin(&mut tx, None, self.issuer_url()).await?;
        if let Some(link) = link
            && (has_admin || !links::use_up(&mut tx, link).await?)
        {
            return Err(AccountsError::LinkExpired);
        }
        check_name(&mut tx, &new.name).await?;
        let user = if users::claim_local(&mut tx, new).await.map_err(name_taken)? {
            audit::note(&mut tx, None, UserId::LOCAL, Action::UserCreated, new.role.as_str()).await?;
            UserId::LOCAL
        } else {
            create_account(&mut tx, None, new).await?
        };
        tx.commit().await?;
        Ok(user)
    }

    /// Creates an invitation link with which a user can create an account.
    pub async fn invite(&self, admin: &Caller, role: UserRole) -> Result<Invitation, AccountsError> {
        if self.rules().sign_up == SignUp::Closed {
            return Err(AccountsError::SignUpClosed);
        }
        let (secret, expires_at) = (Secret::make()?, now() + INVITATION_LIFETIME);
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            // Serializes concurrent requests, so that each request counts the invitations that earlier ones created.
            users::lock_user(&mut tx, UserId::LOCAL).await?;
            if links::count_open(&mut tx).await? >= MAX_INVITATIONS {
                return Err(AccountsError::TooManyInvitations);
            }
            let id = links::create(&mut tx, &secret.hash(), role, Some(admin.user), expires_at).await?;
            audit::note(&mut tx, Some(admin.user), admin.user, Action::InvitationCreated, role.as_str()).await?;
            tx.commit().await?;
            Ok(id)
        };
        let id = with_retries(store).await?;
        Ok(Invitation { id, url: format!("/invitation?token={}", secret.expose()), expires_at })
    }

    /// Lists the unused invitations, newest first.
    pub async fn list_invitations(&self) -> Result<Vec<InvitationInfo>, AccountsError> {
        Ok(links::list_open(&self.context.db).await?)
    }

    /// Revokes an unused invitation. Fails with `NoSuchInvitation` if none has this ID.
    pub async fn revoke_invitation(&self, admin: &Caller, id: i64) -> Result<(), AccountsError> {
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            if !links::delete_open(&mut tx, id).await? {
                return Err(AccountsError::NoSuchInvitation);
            }
            audit::note(&mut tx, Some(admin.user), admin.user, Action::InvitationRevoked, "").await?;
            Ok(tx.commit().await?)
        };
        with_retries(store).await
    }

    /// Returns `true` if an account can be created with this token. An empty token means open sign-up.
    pub async fn can_sign_up(&self, token: &str) -> Result<bool, AccountsError> {
        if token.is_empty() {
            return Ok(self.is_password_sign_up_open());
        }
        Ok(self.role_by(token).await?.is_some())
    }

    /// Returns the role of an account created with this invitation token, or without one if the token is empty. Returns
    /// `None` if that is not allowed.
    pub(crate) async fn role_by(&self, token: &str) -> Result<Option<UserRole>, AccountsError> {
        match self.rules().sign_up {
            SignUp::Closed => return Ok(None),
            SignUp::Open if token.is_empty() => return Ok(Some(UserRole::User)),
            SignUp::Open | SignUp::Invitation => {}
        }
        let Some(hash) = SecretHash::of_token(token) else { return Ok(None) };
        let link = links::find(&self.context.db, &hash).await?;
        Ok(link.filter(|link| link.created_by.is_some()).map(|link| link.role))
    }

    /// Creates an account with an invitation, or without one if sign-up is open, and signs the user in.
    pub async fn accept_invitation(
        &self,
        token: &str,
        name: &str,
        password: Password,
        browser: Browser,
    ) -> Result<NewSession, AccountsError> {
        if self.is_sign_up_closed(token) {
            return Err(AccountsError::SignUpClosed);
        }
        self.count_sign_up(browser.address).await?;
        let role = self.role_by(token).await?.ok_or(AccountsError::LinkExpired)?;
        let hash = SecretHash::of_token(token);
        let new = self.new_user(name, password, role).await?;
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            if let Some(hash) = &hash
                && !links::use_up(&mut tx, hash).await?
            {
                return Err(AccountsError::LinkExpired);
            }
            let user = create_account(&mut tx, None, &new).await?;
            tx.commit().await?;
            Ok(user)
        };
        let user = with_retries(store).await?;
        self.open_session(user, browser, None).await
    }

    /// Counts an attempt to create an account, which may be a guess at an invitation token. Fails with
    /// `TooManyAttempts` if the network has made too many.
    pub(crate) async fn count_sign_up(&self, address: IpAddr) -> Result<(), AccountsError> {
        self.count_attempt(&Subject::sign_up(address)).await.map(|_| ())
    }
}
