//! How the first admin is made, and how people make accounts of their own: by a link, once.

use std::net::IpAddr;
use tallybook_database::now;

use tallybook_protocol::{Invitation, InvitationInfo, UserRole};

use super::{
    Accounts, AccountsError, Browser, Caller, NewSession, Password, SignUp, UserId,
    limits::{INVITATION_LIFETIME, MAX_INVITATIONS, SETUP_LIFETIME},
    people::{check_name, create_account, name_taken},
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        audit::{self, Action},
        links,
        users::{self, NewUserRow},
    },
    throttle::Subject,
};

impl Accounts {
    /// A link's path that makes the first admin; `None` where there is one, or none is needed.
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

    /// Whether a link can still make the first admin.
    pub(crate) async fn is_setup_link(&self, token: &str) -> Result<bool, AccountsError> {
        let Some(hash) = SecretHash::of_token(token) else { return Ok(false) };
        let link = links::find(&self.context.db, &hash).await?;
        Ok(link.is_some_and(|link| link.created_by.is_none()) && !self.is_set_up().await?)
    }

    /// Makes the first admin by a link, and signs the admin in.
    pub(crate) async fn set_up(
        &self,
        token: &str,
        name: &str,
        password: Password,
        browser: Browser,
    ) -> Result<NewSession, AccountsError> {
        // Before the password is hashed, which costs time.
        if !self.is_setup_link(token).await? {
            return Err(AccountsError::LinkOver);
        }
        let hash = SecretHash::of_token(token);
        let new = self.new_user(name, password, UserRole::Admin).await?;
        let user = with_retries(|| self.store_admin(&new, hash.as_ref())).await?;
        self.open_session(user, browser, None).await
    }

    /// Makes an admin, for the operator, who needs no link.
    pub async fn create_admin(&self, name: &str, password: Password) -> Result<(), AccountsError> {
        let new = self.new_user(name, password, UserRole::Admin).await?;
        with_retries(|| self.store_admin(&new, None)).await?;
        Ok(())
    }

    /// The first admin gets the row of the local owner, and so the conversations of the time before there were accounts.
    async fn store_admin(&self, new: &NewUserRow, link: Option<&SecretHash>) -> Result<UserId, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // First of all, since from here on no other transaction changes who the admins are.
        let has_admin = users::has_other_admin(&mut tx, None, self.issuer_address()).await?;
        if let Some(link) = link
            && (has_admin || !links::use_up(&mut tx, link).await?)
        {
            return Err(AccountsError::LinkOver);
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

    /// A link by which somebody makes an account.
    pub(crate) async fn invite(&self, admin: &Caller, role: UserRole) -> Result<Invitation, AccountsError> {
        if self.context.settings.sign_up == SignUp::Closed {
            return Err(AccountsError::SignUpClosed);
        }
        let (secret, expires_at) = (Secret::make()?, now() + INVITATION_LIFETIME);
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            // First of all, so that of several at once each counts those before.
            users::hold(&mut tx, UserId::LOCAL).await?;
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
    pub(crate) async fn list_invitations(&self) -> Result<Vec<InvitationInfo>, AccountsError> {
        Ok(links::list_open(&self.context.db).await?)
    }

    /// Revokes an invitation.
    pub(crate) async fn revoke_invitation(&self, admin: &Caller, id: i64) -> Result<(), AccountsError> {
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

    /// Whether somebody can make an account by this token, or without any.
    pub(crate) async fn can_sign_up(&self, token: &str) -> Result<bool, AccountsError> {
        Ok(self.role_by(token).await?.is_some())
    }

    /// The role that a link gives, or no link.
    pub(super) async fn role_by(&self, token: &str) -> Result<Option<UserRole>, AccountsError> {
        match self.context.settings.sign_up {
            SignUp::Closed => return Ok(None),
            SignUp::Open if token.is_empty() => return Ok(Some(UserRole::User)),
            SignUp::Open | SignUp::Invitation => {}
        }
        let Some(hash) = SecretHash::of_token(token) else { return Ok(None) };
        let link = links::find(&self.context.db, &hash).await?;
        Ok(link.filter(|link| link.created_by.is_some()).map(|link| link.role))
    }

    /// Makes an account for whoever asks, and signs the person in.
    pub(crate) async fn accept_invitation(
        &self,
        token: &str,
        name: &str,
        password: Password,
        browser: Browser,
    ) -> Result<NewSession, AccountsError> {
        if self.context.settings.sign_up == SignUp::Closed {
            return Err(AccountsError::SignUpClosed);
        }
        self.count_sign_up(browser.address).await?;
        let role = self.role_by(token).await?.ok_or(AccountsError::LinkOver)?;
        let hash = SecretHash::of_token(token);
        let new = self.new_user(name, password, role).await?;
        let store = || async {
            let mut tx = self.context.db.begin().await?;
            if let Some(hash) = &hash
                && !links::use_up(&mut tx, hash).await?
            {
                return Err(AccountsError::LinkOver);
            }
            let user = create_account(&mut tx, None, &new).await?;
            tx.commit().await?;
            Ok(user)
        };
        let user = with_retries(store).await?;
        self.open_session(user, browser, None).await
    }

    /// An address makes so many accounts, and guesses so many links, and no more.
    pub(super) async fn count_sign_up(&self, address: IpAddr) -> Result<(), AccountsError> {
        self.count_attempt(&Subject::sign_up(address)).await
    }
}
