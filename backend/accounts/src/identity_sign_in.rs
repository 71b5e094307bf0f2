//! Sign-in with OpenID Connect: creates authorization requests, and handles the identity provider's callback. A
//! callback signs the user in, creates an account, or links an identity to an account.

use tallybook_database::now;

use super::{
    Accounts, AccountsError, Browser, Caller, Credential, NewSession, Password, SignUp, UserId,
    identities::link,
    limits::FLOW_LIFETIME,
    names::{UserName, derive_name},
    openid::{Claims, Flow, OpenIdError, Purpose},
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        attempts,
        identities::{self, NewIdentityRow},
        links, sessions,
        users::NewUserRow,
    },
    throttle::Subject,
    users::create_account,
};

/// Number of names that are tried for a new account. If all are taken, a name with a random number is tried.
const NAMES_TRIED: u32 = 9;

/// An authorization request that the browser is about to send to the identity provider.
#[derive(Debug)]
pub struct AuthorizationRequest {
    /// URL of the request, to which to redirect the browser.
    pub address: String,
    /// Value of the cookie that the browser keeps until the callback.
    pub held: String,
}

/// Cookies and query parameters of a request to the redirect URI
/// (<https://openid.net/specs/openid-connect-core-1_0.html#AuthResponse>).
#[derive(Default)]
pub struct CallbackParams {
    /// Value of the authorization request's cookie ([`AuthorizationRequest::held`]).
    pub held: Option<String>,
    /// Secret from the session cookie.
    pub session: Option<String>,
    /// The redirect URI. It must equal the one in the authorization request.
    pub back: String,
    /// `state`, which must match the authorization request.
    pub state: String,
    /// `code`, if the identity provider authorized the request.
    pub code: Option<String>,
    /// `error`, if the identity provider refused the request.
    pub error: Option<String>,
    /// `iss`, the issuer URL (RFC 9207), if the identity provider sends it.
    pub issuer: Option<String>,
}

/// Result of a successful callback.
#[derive(Debug)]
pub enum CallbackOutcome {
    /// The user is signed in. The string is the address to redirect to. It comes from the request, so the caller must
    /// check that it is on this server.
    SignedIn(NewSession, String),
    /// The identity was linked to the caller's account.
    Linked,
}

impl Accounts {
    /// Creates an authorization request. `back` is the redirect URI. `session` is the secret from the browser's session
    /// cookie, if it has one.
    pub async fn start_login(
        &self,
        purpose: &Purpose,
        session: Option<&str>,
        back: &str,
    ) -> Result<AuthorizationRequest, AccountsError> {
        let provider = self.identity_provider()?;
        let flow = Flow::begin(purpose, session)?;
        let address = provider.address_for(&flow, back).await?;
        Ok(AuthorizationRequest { address, held: flow.value().to_owned() })
    }

    /// Creates an authorization request that links an identity to the caller's account. A linked identity allows
    /// sign-in permanently, so an open session is not enough: the caller must also prove ownership of the account
    /// (`prove_ownership`). The session's row records the proof until the callback uses it up. A cookie could not serve
    /// as proof, because a browser can send any cookie.
    pub async fn begin_linking(
        &self,
        caller: &Caller,
        password: Password,
        browser: &Browser,
        session: Option<&str>,
        back: &str,
    ) -> Result<AuthorizationRequest, AccountsError> {
        self.identity_provider()?;
        let Credential::Session(id) = caller.credential else { return Err(AccountsError::Off) };
        self.prove_ownership(caller, Some(password), browser.address).await?;
        sessions::confirm(&self.context.db, id).await?;
        self.start_login(&Purpose::Link, session, back).await
    }

    /// Handles the callback from the identity provider: signs the user in, creates an account, or links the identity.
    /// Records a failed sign-in if the identity is not proven, or if it gives no access to an active account.
    pub async fn handle_callback(
        &self,
        returned: CallbackParams,
        browser: Browser,
        caller: Option<&Caller>,
    ) -> Result<CallbackOutcome, AccountsError> {
        let address = browser.address;
        let outcome = self.process_callback(returned, browser, caller).await;
        if let Err(AccountsError::OpenId(
            OpenIdError::Untrusted { .. }
            | OpenIdError::Unknown { .. }
            | OpenIdError::WrongDomain
            | OpenIdError::Deactivated,
        )) = &outcome
        {
            self.note_failed_sign_in(None, address).await;
        }
        outcome
    }

    async fn process_callback(
        &self,
        returned: CallbackParams,
        browser: Browser,
        caller: Option<&Caller>,
    ) -> Result<CallbackOutcome, AccountsError> {
        let CallbackParams { held, session, back, state, code, error, issuer: named } = returned;
        let provider = self.identity_provider()?;
        let flow = held.and_then(|held| Flow::parse(&held, session.as_deref()));
        let (flow, purpose) = flow.filter(|(flow, _)| flow.is_state(&state)).ok_or(OpenIdError::Stale)?;
        // The configured issuer URL and the `iss` parameter may differ in a trailing slash.
        let without_slash = |address: &str| address.trim_end_matches('/').to_owned();
        if named.is_some_and(|named| without_slash(&named) != without_slash(&provider.settings().issuer)) {
            return Err(provider.untrusted("the callback names another identity provider").into());
        }
        if let Some(kind) = error {
            let kind: String = kind.chars().filter(char::is_ascii_graphic).take(60).collect();
            tracing::info!(kind, "the identity provider refused a sign-in");
            return Err(OpenIdError::Refused { name: provider.settings().name.clone() }.into());
        }
        let code = code.ok_or(OpenIdError::Stale)?;
        // Invalid codes count as failed attempts, so guessing codes is delayed like guessing passwords.
        let address = Subject::address(browser.address);
        let attempt = self.count_attempt(&address).await?;
        let redeemed = provider.redeem(code, &flow, &back).await;
        // Only a response that proves nothing counts as a failed attempt. If the identity provider is down, that must
        // not delay password sign-ins from this address.
        if !matches!(redeemed, Err(OpenIdError::Untrusted { .. })) {
            attempts::forgive(&self.context.db, &address, &attempt).await?;
        }
        let claims = redeemed?;
        if !provider.settings().allows_email(claims.verified_email()) {
            return Err(OpenIdError::WrongDomain.into());
        }
        let (user, next) = match purpose {
            Purpose::SignIn { next } => (self.owner_of(&claims, None, &browser).await?, Some(next)),
            Purpose::Invitation { token } => {
                (self.owner_of(&claims, Some(token), &browser).await?, Some("/".to_owned()))
            }
            Purpose::Link => (self.link_own(&claims, caller).await?, None),
        };
        self.sync_groups(user, &claims).await?;
        match next {
            Some(next) => Ok(CallbackOutcome::SignedIn(self.open_session(user, browser, caller).await?, next)),
            None => Ok(CallbackOutcome::Linked),
        }
    }

    /// Returns the user to whom the identity is linked. If there is none, creates an account, provided that open
    /// sign-up or the invitation `token` allows it.
    async fn owner_of(
        &self,
        claims: &Claims,
        token: Option<String>,
        browser: &Browser,
    ) -> Result<UserId, AccountsError> {
        if let Some(user) = self.known(claims).await? {
            return Ok(user);
        }
        match self.create_owner(claims, token, browser).await {
            // A concurrent request with the same identity has created the account.
            Err(AccountsError::OpenId(OpenIdError::Taken)) => {
                self.known(claims).await?.ok_or(OpenIdError::NoSuchIdentity.into())
            }
            outcome => outcome,
        }
    }

    /// Returns the user to whom the identity is linked, if there is one, and records the use of the identity. Fails
    /// with `Deactivated` if the account is deactivated.
    async fn known(&self, claims: &Claims) -> Result<Option<UserId>, AccountsError> {
        let db = &self.context.db;
        let Some(owner) = identities::find(db, &self.identity_provider()?.settings().issuer, &claims.subject).await?
        else {
            return Ok(None);
        };
        if owner.deactivated_at.is_some() {
            return Err(OpenIdError::Deactivated.into());
        }
        identities::record_use(db, owner.id, &claims.label()).await?;
        Ok(Some(owner.user_id))
    }

    /// Creates an account for an identity that is not linked yet. The user name is derived from the claims.
    async fn create_owner(
        &self,
        claims: &Claims,
        token: Option<String>,
        browser: &Browser,
    ) -> Result<UserId, AccountsError> {
        let sign_up = self.rules().sign_up;
        let token = token.unwrap_or_default();
        if token.is_empty() && sign_up != SignUp::Open {
            return Err(OpenIdError::Unknown { name: self.identity_provider()?.settings().name.clone() }.into());
        }
        if sign_up == SignUp::Closed {
            return Err(AccountsError::SignUpClosed);
        }
        self.count_sign_up(browser.address).await?;
        let role = self.role_by(&token).await?.ok_or(AccountsError::LinkExpired)?;
        let invitation = SecretHash::of_token(&token);
        let identity = self.new_identity(claims)?;
        let wanted = claims.username.as_deref().or(claims.email.as_deref());
        let base = derive_name(wanted.unwrap_or_default());
        let mut tried = 1;
        loop {
            let name = match tried {
                1 => base.clone(),
                2..=NAMES_TRIED => format!("{base}-{tried}"),
                _ => {
                    // Only digits, because letters could mix scripts, which a user name must not do.
                    let secret = Secret::make()?;
                    let number: String = secret.expose().chars().filter(char::is_ascii_digit).take(8).collect();
                    format!("{base}-{number}")
                }
            };
            let name = UserName::parse(&name)?.as_str().to_owned();
            let new = NewUserRow { name, password_hash: None, role };
            match with_retries(|| self.store_owner(&new, &identity, invitation.as_ref())).await {
                // An equal name does not prove that the accounts belong to the same user, so the next name is tried.
                Err(AccountsError::NameTaken | AccountsError::NameConfusing) if tried <= NAMES_TRIED => tried += 1,
                outcome => return outcome,
            }
        }
    }

    /// Uses up the invitation, creates the account and links the identity, in one transaction.
    async fn store_owner(
        &self,
        new: &NewUserRow,
        identity: &NewIdentityRow,
        invitation: Option<&SecretHash>,
    ) -> Result<UserId, AccountsError> {
        let mut tx = self.context.db.begin().await?;
        if let Some(invitation) = invitation
            && !links::use_up(&mut tx, invitation).await?
        {
            return Err(AccountsError::LinkExpired);
        }
        let user = create_account(&mut tx, None, new).await?;
        link(&mut tx, None, user, identity).await?;
        tx.commit().await?;
        Ok(user)
    }

    /// Links the identity to the caller's account, and returns the user. Fails with `Stale` if the caller has no
    /// session, or if the session has no recent, unused proof of ownership.
    async fn link_own(&self, claims: &Claims, caller: Option<&Caller>) -> Result<UserId, AccountsError> {
        let session = caller.and_then(|caller| match caller.credential {
            Credential::Session(id) => Some((caller.user, id)),
            Credential::Local | Credential::Key(_) => None,
        });
        let (user, session) = session.ok_or(OpenIdError::Stale)?;
        if !sessions::use_confirmation(&self.context.db, session, now() - FLOW_LIFETIME).await? {
            return Err(OpenIdError::Stale.into());
        }
        let new = self.new_identity(claims)?;
        match identities::find(&self.context.db, &new.issuer, &new.subject).await? {
            Some(owner) if owner.user_id == user => {}
            Some(_) => return Err(OpenIdError::Taken.into()),
            None => with_retries(|| self.store_link(user, &new)).await?,
        }
        Ok(user)
    }

    fn new_identity(&self, claims: &Claims) -> Result<NewIdentityRow, AccountsError> {
        let issuer = self.identity_provider()?.settings().issuer.clone();
        Ok(NewIdentityRow { issuer, subject: claims.subject.clone(), label: claims.label(), has_signed_in: true })
    }
}
