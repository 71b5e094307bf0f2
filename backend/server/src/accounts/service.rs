//! The service that http talks to. Its use cases stand with their subjects: `sign_in`, `sessions`, `keys`, `people`, `links`,
//! `identities`, `identity_sign_in`; what goes on beside them in `upkeep` and `watch`.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tallybook_database::Database;

use super::{AccountsError, AccountsSettings, openid::Issuer, passwords::Hasher, store::users, streams::OpenStreams};

/// The use cases of accounts. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct Accounts {
    pub(super) context: Arc<Context>,
}

/// What the use cases share.
pub(super) struct Context {
    pub(super) db: Database,
    pub(super) settings: AccountsSettings,
    pub(super) hasher: Hasher,
    pub(super) streams: Arc<OpenStreams>,
    /// By which people sign in who have no password here, or do not want to write it.
    pub(super) issuer: Option<Issuer>,
    /// Whether an admin was seen. There always is one from then on.
    has_admin: AtomicBool,
}

impl Accounts {
    /// The service over the accounts in a database.
    pub fn new(db: Database, settings: AccountsSettings) -> Self {
        let (hasher, streams) = (Hasher::default(), Arc::default());
        let issuer = settings.openid.clone().map(Issuer::new);
        let has_admin = AtomicBool::new(false);
        Self { context: Arc::new(Context { db, settings, hasher, streams, issuer, has_admin }) }
    }

    /// What the operator decided.
    pub fn settings(&self) -> &AccountsSettings {
        &self.context.settings
    }

    /// The address of the issuer by which people sign in; `None` where they sign in by none.
    pub(super) fn issuer_address(&self) -> Option<&str> {
        self.context.issuer.as_ref().map(|issuer| issuer.settings().issuer.as_str())
    }

    /// Whether there is an admin, without whom a server that has accounts serves nobody.
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

/// Runs a whole transaction, and runs it again when the engine rolled it back in favour of another one.
pub(super) async fn with_retries<T, W>(mut work: impl FnMut() -> W) -> Result<T, AccountsError>
where
    W: Future<Output = Result<T, AccountsError>>,
{
    // Transactions are large futures, each of which would be a part of its use case's.
    tallybook_database::with_retries(|| Box::pin(work())).await
}
