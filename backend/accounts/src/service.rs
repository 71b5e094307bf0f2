//! The accounts service that the HTTP handlers call. Its methods are in the module of their subject: `sign_in`,
//! `sessions`, `keys`, `me`, `users`, `links`, `identities`, `identity_sign_in`. Background tasks are in `maintenance`
//! and `stream_revocation`.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::RwLock;
use tallybook_database::Database;

use super::{
    AccountRules, AccountsError, AccountsSettings, SignUp, openid::IdentityProvider, passwords::Hasher,
    revocable_streams::OpenStreams, store::users,
};

/// The accounts service. Cheap to clone; all clones share one state.
#[derive(Clone)]
pub struct Accounts {
    pub(crate) context: Arc<Context>,
}

/// Shared state of all clones of [`Accounts`].
pub(crate) struct Context {
    pub(crate) db: Database,
    pub(crate) settings: AccountsSettings,
    rules: RwLock<AccountRules>,
    pub(crate) hasher: Hasher,
    pub(crate) streams: Arc<OpenStreams>,
    /// Identity provider with which users can sign in without a password; `None` if none is configured.
    pub(crate) identity_provider: Option<IdentityProvider>,
    /// Set once the database was seen to contain an admin. It stays set, since the last admin cannot be removed.
    has_admin: AtomicBool,
}

impl Accounts {
    /// Creates the service on a database.
    pub fn new(db: Database, settings: AccountsSettings) -> Self {
        let (hasher, streams) = (Hasher::default(), Arc::default());
        let identity_provider = settings.openid.clone().map(IdentityProvider::new);
        let has_admin = AtomicBool::new(false);
        let rules = RwLock::new(AccountRules { sign_up: settings.sign_up, sharing: settings.sharing });
        Self { context: Arc::new(Context { db, settings, rules, hasher, streams, identity_provider, has_admin }) }
    }

    /// Returns the operator's settings, with the rules of the start.
    pub fn settings(&self) -> &AccountsSettings {
        &self.context.settings
    }

    /// Returns the rules that apply now.
    pub fn rules(&self) -> AccountRules {
        *self.context.rules.read()
    }

    /// Replaces the rules.
    pub fn set_rules(&self, rules: AccountRules) {
        *self.context.rules.write() = rules;
    }

    /// Returns `true` if anyone can create an account with a password, without an invitation. If the identity
    /// provider's users are restricted to email domains, only the provider can prove an address, so a password is not
    /// enough.
    pub fn is_password_sign_up_open(&self) -> bool {
        let openid = self.context.settings.openid.as_ref();
        let has_domains = openid.is_some_and(|openid| !openid.email_domains.is_empty());
        self.rules().sign_up == SignUp::Open && !has_domains
    }

    /// Returns `true` if the policy lets no account with a password be created with this invitation token, even if the
    /// token is valid. It is empty without an invitation; if the policy is `Invitation`, that is an invalid token.
    pub fn is_sign_up_closed(&self, token: &str) -> bool {
        match self.rules().sign_up {
            SignUp::Closed => true,
            SignUp::Open => token.is_empty() && !self.is_password_sign_up_open(),
            SignUp::Invitation => false,
        }
    }

    /// Returns the issuer URL of the identity provider, or `None` if none is configured.
    pub(crate) fn issuer_url(&self) -> Option<&str> {
        self.context.identity_provider.as_ref().map(|provider| provider.settings().issuer.as_str())
    }

    /// Returns `true` if there is an admin who can sign in. Until there is one, a server with accounts refuses requests
    /// that need a user.
    pub async fn is_set_up(&self) -> Result<bool, AccountsError> {
        let context = &self.context;
        if context.has_admin.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let has_admin = users::has_admin(&context.db, self.issuer_url()).await?;
        context.has_admin.store(has_admin, Ordering::Relaxed);
        Ok(has_admin)
    }
}

/// Runs a complete transaction. Retries it if the database engine rolled it back in favor of another transaction.
pub(crate) async fn with_retries<T, W>(mut work: impl FnMut() -> W) -> Result<T, AccountsError>
where
    W: Future<Output = Result<T, AccountsError>>,
{
    // Transactions are large futures. Boxing keeps them from enlarging the future of each caller.
    tallybook_database::with_retries(|| Box::pin(work())).await
}
