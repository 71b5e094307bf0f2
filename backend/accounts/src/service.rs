//! The accounts service that the HTTP handlers call. Its methods are in the module of their subject: `sign_in`,
//! `sessions`, `keys`, `me`, `people`, `links`, `identities`, `identity_sign_in`. Background tasks are in `maintenance`
//! and `watch`.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tallybook_database::Database;

use super::{
    AccountsError, AccountsSettings, openid::Issuer, passwords::Hasher, revocable_streams::OpenStreams, store::users,
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
    pub(crate) hasher: Hasher,
    pub(crate) streams: Arc<OpenStreams>,
    /// Identity provider with which users can sign in without a password; `None` if none is configured.
    pub(crate) issuer: Option<Issuer>,
    /// Set once the database was seen to contain an admin. It stays set, since the last admin cannot be removed.
    has_admin: AtomicBool,
}

impl Accounts {
    /// Creates the service on a database.
    pub fn new(db: Database, settings: AccountsSettings) -> Self {
        let (hasher, streams) = (Hasher::default(), Arc::default());
        let issuer = settings.openid.clone().map(Issuer::new);
        let has_admin = AtomicBool::new(false);
        Self { context: Arc::new(Context { db, settings, hasher, streams, issuer, has_admin }) }
    }

    /// Returns the operator's settings.
    pub fn settings(&self) -> &AccountsSettings {
        &self.context.settings
    }

    /// Returns the issuer URL of the identity provider, or `None` if none is configured.
    pub(crate) fn issuer_address(&self) -> Option<&str> {
        self.context.issuer.as_ref().map(|issuer| issuer.settings().issuer.as_str())
    }

    /// Returns `true` if there is an admin who can sign in. Until there is one, a server with accounts refuses requests
    /// that need a user.
    pub async fn is_set_up(&self) -> Result<bool, AccountsError> {
        let context = &self.context;
        if context.has_admin.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let has_admin = users::has_admin(&context.db, self.issuer_address()).await?;
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
