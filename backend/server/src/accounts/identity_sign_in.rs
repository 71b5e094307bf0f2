//! Signing in by OpenID Connect: away to the issuer, and back with who one is there.

use super::{
    Accounts, AccountsError, Browser, Caller, Credential, NewSession, Password, SignUp, UserId,
    identities::link,
    names::{UserName, name_like},
    openid::{Claims, FLOW_LIFETIME, Flow, OpenIdError, Purpose},
    people::create_account,
    secret::{Secret, SecretHash},
    service::with_retries,
    store::{
        attempts,
        identities::{self, NewIdentityRow},
        links, sessions,
        users::NewUserRow,
    },
    throttle::Subject,
};
use tallybook_database::now;

/// Names that are tried for a new account before one is made up.
const NAMES_TRIED: u32 = 9;

/// Somebody on the way to the issuer.
#[derive(Debug)]
pub(crate) struct Departure {
    /// Where the browser goes.
    pub(crate) address: String,
    /// What it holds until it is back.
    pub(crate) held: String,
}

/// What a browser came back with.
#[derive(Default)]
pub(crate) struct Return {
    /// What it holds.
    pub(crate) held: Option<String>,
    /// What it shows of a session.
    pub(crate) session: Option<String>,
    /// Where the issuer sent it.
    pub(crate) back: String,
    /// What the issuer gave it.
    pub(crate) state: String,
    pub(crate) code: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) issuer: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Somebody is signed in, and wanted to go here.
    SignedIn(NewSession, String),
    /// Who it is there is linked to the caller's account.
    Linked,
}

impl Accounts {
    /// Sends somebody to the issuer, which sends the browser back to `back`. `session` is what it shows of one.
    pub(crate) async fn depart(
        &self,
        purpose: &Purpose,
        session: Option<&str>,
        back: &str,
    ) -> Result<Departure, AccountsError> {
        let issuer = self.issuer()?;
        let flow = Flow::begin(purpose, session)?;
        let address = issuer.address_for(&flow, back).await?;
        Ok(Departure { address, held: flow.value().to_owned() })
    }

    /// Sends whoever is signed in to the issuer, to link who that is there. An identity is a way in for good, so a session alone
    /// is not enough: its owner says the password, or has just signed in where there is none. That is written down here and
    /// used up by whoever comes back, since nothing that the browser holds could prove it.
    pub(crate) async fn begin_linking(
        &self,
        caller: &Caller,
        password: Password,
        browser: &Browser,
        session: Option<&str>,
        back: &str,
    ) -> Result<Departure, AccountsError> {
        self.issuer()?;
        let Credential::Session(id) = caller.credential else { return Err(AccountsError::Off) };
        self.prove_ownership(caller, Some(password), browser.address).await?;
        sessions::confirm(&self.context.db, id).await?;
        self.depart(&Purpose::Link, session, back).await
    }

    /// Takes in whoever came back from the issuer.
    pub(crate) async fn arrive(
        &self,
        returned: Return,
        browser: Browser,
        caller: Option<&Caller>,
    ) -> Result<Arrival, AccountsError> {
        let address = browser.address;
        let outcome = self.take_in(returned, browser, caller).await;
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

    async fn take_in(
        &self,
        returned: Return,
        browser: Browser,
        caller: Option<&Caller>,
    ) -> Result<Arrival, AccountsError> {
        let Return { held, session, back, state, code, error, issuer: named } = returned;
        let issuer = self.issuer()?;
        let flow = held.and_then(|held| Flow::shown(&held, session.as_deref()));
        let (flow, purpose) = flow.filter(|(flow, _)| flow.is_state(&state)).ok_or(OpenIdError::Stale)?;
        // The setting may lack the slash at the issuer's end.
        let without_slash = |address: &str| address.trim_end_matches('/').to_owned();
        if named.is_some_and(|named| without_slash(&named) != without_slash(&issuer.settings().issuer)) {
            return Err(issuer.untrusted("another issuer sent the browser back").into());
        }
        if let Some(kind) = error {
            let kind: String = kind.chars().filter(char::is_ascii_graphic).take(60).collect();
            tracing::info!(kind, "the issuer did not sign somebody in");
            return Err(OpenIdError::Refused { name: issuer.settings().name.clone() }.into());
        }
        let code = code.ok_or(OpenIdError::Stale)?;
        // Whoever makes up codes is held up as one who guesses passwords.
        let address = Subject::address(browser.address);
        self.count_attempt(&address).await?;
        let redeemed = issuer.redeem(code, &flow, &back).await;
        // Only what proves nothing is a guess. An issuer that is down must not hold up those who have passwords.
        if !matches!(redeemed, Err(OpenIdError::Untrusted { .. })) {
            attempts::forgive(&self.context.db, &address).await?;
        }
        let claims = redeemed?;
        if !issuer.settings().lets_in(claims.verified_email()) {
            return Err(OpenIdError::WrongDomain.into());
        }
        match purpose {
            Purpose::SignIn { next } => {
                let user = self.owner_of(&claims, None, &browser).await?;
                Ok(Arrival::SignedIn(self.open_session(user, browser, caller).await?, next))
            }
            Purpose::Invitation { token } => {
                let user = self.owner_of(&claims, Some(token), &browser).await?;
                Ok(Arrival::SignedIn(self.open_session(user, browser, caller).await?, "/".to_owned()))
            }
            Purpose::Link => {
                self.link_own(&claims, caller).await?;
                Ok(Arrival::Linked)
            }
        }
    }

    /// Whose account it is that somebody signs in to; a new one's where the person may make one.
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
            // Another request of the same person's was faster.
            Err(AccountsError::OpenId(OpenIdError::Taken)) => {
                self.known(claims).await?.ok_or(OpenIdError::NoSuchIdentity.into())
            }
            outcome => outcome,
        }
    }

    async fn known(&self, claims: &Claims) -> Result<Option<UserId>, AccountsError> {
        let db = &self.context.db;
        let Some(owner) = identities::find(db, &self.issuer()?.settings().issuer, &claims.subject).await? else {
            return Ok(None);
        };
        if owner.deactivated_at.is_some() {
            return Err(OpenIdError::Deactivated.into());
        }
        identities::used(db, owner.id, &claims.label()).await?;
        Ok(Some(owner.user_id))
    }

    /// Makes an account for somebody whom nobody here knows.
    async fn create_owner(
        &self,
        claims: &Claims,
        token: Option<String>,
        browser: &Browser,
    ) -> Result<UserId, AccountsError> {
        let settings = &self.context.settings;
        let token = token.unwrap_or_default();
        if token.is_empty() && settings.sign_up != SignUp::Open {
            return Err(OpenIdError::Unknown { name: self.issuer()?.settings().name.clone() }.into());
        }
        if settings.sign_up == SignUp::Closed {
            return Err(AccountsError::SignUpClosed);
        }
        self.count_sign_up(browser.address).await?;
        let role = self.role_by(&token).await?.ok_or(AccountsError::LinkOver)?;
        let invitation = SecretHash::of_token(&token);
        let identity = self.new_identity(claims)?;
        let wanted = claims.username.as_deref().or(claims.email.as_deref());
        let base = name_like(wanted.unwrap_or_default());
        let mut tried = 1;
        loop {
            let name = match tried {
                1 => base.clone(),
                2..=NAMES_TRIED => format!("{base}-{tried}"),
                _ => {
                    // Digits fit names of every script.
                    let secret = Secret::make()?;
                    let number: String = secret.expose().chars().filter(char::is_ascii_digit).take(8).collect();
                    format!("{base}-{number}")
                }
            };
            let name = UserName::parse(&name)?.as_str().to_owned();
            let new = NewUserRow { name, password_hash: None, role };
            match with_retries(|| self.store_owner(&new, &identity, invitation.as_ref())).await {
                // A name says nothing of who somebody is: whoever has it already is another one.
                Err(AccountsError::NameTaken | AccountsError::NameConfusing) if tried <= NAMES_TRIED => tried += 1,
                outcome => return outcome,
            }
        }
    }

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
            return Err(AccountsError::LinkOver);
        }
        let user = create_account(&mut tx, None, new).await?;
        link(&mut tx, None, user, identity).await?;
        tx.commit().await?;
        Ok(user)
    }

    /// Links who came back to the account that is signed in.
    async fn link_own(&self, claims: &Claims, caller: Option<&Caller>) -> Result<(), AccountsError> {
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
            Some(owner) if owner.user_id == user => Ok(()),
            Some(_) => Err(OpenIdError::Taken.into()),
            None => with_retries(|| self.store_link(user, &new)).await,
        }
    }

    fn new_identity(&self, claims: &Claims) -> Result<NewIdentityRow, AccountsError> {
        let issuer = self.issuer()?.settings().issuer.clone();
        Ok(NewIdentityRow { issuer, subject: claims.subject.clone(), label: claims.label(), is_used: true })
    }
}
