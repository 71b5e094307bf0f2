//! The service that the HTTP handlers call, and the task that applies changes that other servers made. The use cases
//! are in `entries`, `models`, `tool_servers` and `server_settings`.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tallybook_accounts::{Accounts, Permissions};
use tallybook_conversations::{CurrentSettings, models::Catalog};
use tallybook_database::{Database, with_retries};
use tallybook_mcp::ToolServers;
use tallybook_protocol::{ModelFields, ToolServerFields};
use tallybook_tools::Secrets;
use tokio::{
    sync::{Mutex, Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{
    budget_store,
    configured::Configured,
    effective::{account_rules, budgets_for_conversations, for_conversations, merge},
    error::SettingsError,
    group_store,
    kind::EntryKind,
    model_source::ModelSource,
    seal::{Sealed, Sealer},
    settings_store,
    store::{self, EntryRow, StoredEntry},
    tool_server_source::ToolServerSource,
    unusable::Unusable,
};

/// Interval at which a server polls for changes that other servers made.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Interval for an embedded database, which has no other server. Only a change that could not be applied at once is
/// found this way.
const EMBEDDED_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Interval at which entries that cannot be used are read again, for example because the key of their secrets is
/// missing.
const UNUSABLE_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Maximum number of tests of models and tool servers at the same time.
const MAX_TESTS: usize = 4;

/// The settings that change while the server runs. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct RuntimeSettings {
    pub(crate) context: Arc<Context>,
}

pub(crate) struct Context {
    pub(crate) db: Database,
    pub(crate) sealer: Sealer,
    pub(crate) models: Catalog,
    pub(crate) tool_servers: ToolServers,
    pub(crate) secrets: Secrets,
    conversations: CurrentSettings,
    accounts: Accounts,
    permissions: Permissions,
    pub(crate) configured: Configured,
    pub(crate) added: Mutex<Added>,
    /// Permits for tests of models and tool servers, and for lists of models.
    tests: Semaphore,
}

/// The services to which changes are applied.
pub struct Services {
    /// The models.
    pub models: Catalog,
    /// The tool servers.
    pub tool_servers: ToolServers,
    /// The values to redact, to which the secrets of models and tool servers are added.
    pub secrets: Secrets,
    /// The settings of conversations.
    pub conversations: CurrentSettings,
    /// The accounts.
    pub accounts: Accounts,
    /// The permissions of users.
    pub permissions: Permissions,
}

/// The entries that admins have added and the settings that they have changed, as this server uses them. Models and
/// tool servers are oldest first.
#[derive(Default)]
pub(crate) struct Added {
    /// Version of the catalog that is applied; `None` until one is.
    version: Option<i64>,
    /// Time at which it was read.
    read_at: Option<Instant>,
    pub(crate) models: Vec<AddedEntry<ModelFields, ModelSource>>,
    pub(crate) tool_servers: Vec<AddedEntry<ToolServerFields, ToolServerSource>>,
    /// The changed settings of the server.
    pub(crate) settings: Map<String, Value>,
    pub(crate) settings_version: i64,
}

/// An added entry. `source` is the usable entry, or the reason why it cannot be used.
#[derive(Clone)]
pub(crate) struct AddedEntry<Fields, Source> {
    id: i64,
    pub(crate) fields: Fields,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) has_secret: bool,
    pub(crate) source: Result<Source, Unusable>,
}

impl Added {
    /// Returns `true` if this is the version of the catalog, and it is not time to read unusable entries again.
    fn is_current(&self, version: i64) -> bool {
        let models = self.models.iter().all(|model| model.source.is_ok());
        let are_usable = models && self.tool_servers.iter().all(|server| server.source.is_ok());
        let is_fresh = self.read_at.is_some_and(|time| time.elapsed() < UNUSABLE_POLL_INTERVAL);
        self.version == Some(version) && (are_usable || is_fresh)
    }
}

impl RuntimeSettings {
    /// Creates the service, and applies the stored models, tool servers and settings.
    pub async fn start(
        db: Database,
        sealer: Sealer,
        services: Services,
        configured: Configured,
    ) -> Result<Self, SettingsError> {
        let Services { models, tool_servers, secrets, conversations, accounts, permissions } = services;
        let (added, tests) = (Mutex::default(), Semaphore::new(MAX_TESTS));
        let context = Context {
            db,
            sealer,
            models,
            tool_servers,
            secrets,
            conversations,
            accounts,
            permissions,
            configured,
            added,
            tests,
        };
        let service = Self { context: Arc::new(context) };
        service.refresh().await?;
        let context = &service.context;
        let added = context.added.lock().await;
        for AddedEntry { fields, source, .. } in &added.models {
            context.warn(EntryKind::Model, &fields.name, source);
        }
        for AddedEntry { fields, source, .. } in &added.tool_servers {
            context.warn(EntryKind::ToolServer, &fields.name, source);
        }
        for problem in merge(&context.configured, &added.settings, &context.models).problems {
            tracing::warn!(%problem, "a setting that was changed in the page has no effect");
        }
        drop(added);
        Ok(service)
    }

    /// Applies changes that other replicas made, and those that could not be applied at once. Never
    /// returns.
    pub async fn watch(self, is_embedded: bool) {
        let interval = if is_embedded { EMBEDDED_POLL_INTERVAL } else { POLL_INTERVAL };
        loop {
            tokio::time::sleep(interval).await;
            if let Err(error) = self.refresh().await {
                // No warning: while the database is unreachable, other parts of the server report it.
                tracing::debug!(%error, "cannot check for changed settings");
            }
        }
    }

    /// Reads the added models and tool servers and the changed settings, and applies them. Does nothing if they have
    /// not changed. Entries that cannot be used are read again from time to time.
    pub(crate) async fn refresh(&self) -> Result<(), SettingsError> {
        let context = &*self.context;
        let mut added = context.added.lock().await;
        // Reads the version first, so that a change during the next read is noticed at the next poll.
        let version = store::version(&context.db).await?;
        if added.is_current(version) {
            return Ok(());
        }
        let entries = store::list(&context.db).await?;
        let (settings, settings_version) = settings_store::list(&context.db).await?;
        let budgets = budgets_for_conversations(budget_store::list(&context.db).await?);
        let grants = group_store::read_grants(&context.db).await?;
        // From here on nothing is awaited, so a change is applied as a whole or not at all.
        let read_model = |fields: &ModelFields, key: Option<&SecretString>| {
            ModelSource::read(&context.models, &context.configured.model_defaults, fields, key)
        };
        let models = context.read(EntryKind::Model, &entries, &added.models, read_model);
        let read_server = ToolServerSource::read;
        let tool_servers = context.read(EntryKind::ToolServer, &entries, &added.tool_servers, read_server);
        let read_at = Some(Instant::now());
        *added = Added { version: Some(version), read_at, models, tool_servers, settings, settings_version };
        // Before the models, so that a new model with the name of a removed one is never open to all users.
        context.permissions.set_grants(grants);
        let models = added.models.iter().filter_map(|model| model.source.as_ref().ok());
        let servers = || added.tool_servers.iter().filter_map(|server| Some((server, server.source.as_ref().ok()?)));
        let keys = models.clone().filter_map(|source| Some(source.entry.api_key()?.expose().to_owned()));
        context.secrets.set_added(keys.chain(servers().flat_map(|(_, source)| source.secrets())));
        let default_model = added.settings.get("default_model").and_then(Value::as_str);
        context.models.set_added(models.map(|source| Arc::clone(&source.model)).collect(), default_model);
        let servers = servers().map(|(server, source)| (server.fields.name.clone(), source.settings.clone()));
        context.tool_servers.set_added(servers.collect());
        // Last, because settings name models.
        let settings = merge(&context.configured, &added.settings, &context.models).settings;
        context.accounts.set_rules(account_rules(&settings));
        context.conversations.set(for_conversations(settings, budgets, &context.models));
        drop(added);
        // If this is interrupted, a server reads them at its next listing, within a minute.
        context.tool_servers.read_accepted().await;
        Ok(())
    }

    /// Makes the other replicas read the accepted definitions of tools again, within two seconds.
    pub async fn announce_accepted_definitions(&self) -> Result<(), SettingsError> {
        let announce = || async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            tx.commit().await
        };
        Ok(with_retries(announce).await?)
    }
}

impl Context {
    /// Returns a permit for a test, which is held while it runs.
    pub(crate) fn begin_test(&self) -> Result<SemaphorePermit<'_>, SettingsError> {
        self.tests.try_acquire().map_err(|_| SettingsError::Busy)
    }

    fn warn<S>(&self, kind: EntryKind, name: &str, source: &Result<S, Unusable>) {
        if let Some(problem) = self.configured.problem(kind, name, source) {
            tracing::warn!(%kind, name, %problem, "an entry that was added in the page is not used");
        }
    }

    /// Reads entries of a kind. Entries in `known` that did not change stay as they are: a model keeps its client, and
    /// with it the quirks that its server is known to have.
    fn read<F, S>(
        &self,
        kind: EntryKind,
        entries: &[StoredEntry],
        known: &[AddedEntry<F, S>],
        read: impl Fn(&F, Option<&SecretString>) -> Result<S, String>,
    ) -> Vec<AddedEntry<F, S>>
    where
        F: Clone + DeserializeOwned + Named,
        S: Clone,
    {
        let entries =
            entries.iter().filter(|entry| entry.kind == kind.as_str()).map(|StoredEntry { row, sealed, .. }| {
                let is_same = |entry: &&AddedEntry<F, S>| (entry.id, entry.version) == (row.id, row.version);
                let known = known.iter().find(is_same).filter(|entry| entry.source.is_ok());
                known.cloned().unwrap_or_else(|| read_entry(&self.sealer, kind, row, sealed.as_ref(), &read))
            });
        entries.collect()
    }
}

/// Reads a stored entry, and decrypts its secret.
pub(crate) fn read_entry<F: DeserializeOwned + Named, S>(
    sealer: &Sealer,
    kind: EntryKind,
    row: &EntryRow,
    secret: Option<&Sealed>,
    read: impl Fn(&F, Option<&SecretString>) -> Result<S, String>,
) -> AddedEntry<F, S> {
    let has_secret = secret.is_some();
    let fields = serde_json::from_str::<F>(&row.settings);
    let unreadable = |_| "The stored settings cannot be read. They may come from a later version.".to_owned();
    let source = fields.as_ref().map_err(unreadable).map_err(Unusable::Invalid).and_then(|fields| {
        let secret = secret.map(|sealed| sealer.open(sealed, &kind.seal_context(&row.name))).transpose()?;
        read(fields, secret.as_ref()).map_err(Unusable::Invalid)
    });
    AddedEntry {
        id: row.id,
        fields: fields.unwrap_or_else(|_| F::named(row.name.clone())),
        version: row.version,
        updated_at: row.updated_at,
        has_secret,
        source,
    }
}

/// Settings with a name.
pub(crate) trait Named {
    /// Creates settings that have only a name, for an entry whose settings cannot be read.
    fn named(name: String) -> Self;
}

impl Named for ModelFields {
    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

impl Named for ToolServerFields {
    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}
