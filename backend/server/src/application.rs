//! Assembles the server: the database, the models, the agent, the conversations, and the HTTP server.

use std::{
    future::Future,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix_web::dev::Server;
use tallybook_accounts::{Accounts, AccountsError, Permissions};
use tallybook_agent::AgentService;
use tallybook_conversations::{
    ChangeableSettings, ConversationService, ConversationSettings, CurrentSettings, ServiceError,
    models::{Catalog, CatalogError},
    tool_pins::ToolPins,
};
use tallybook_database::{Database, DatabaseLock, DbError};
use tallybook_files::{Files, FilesError};
use tallybook_mcp::{PinStore, ToolServers};
use tallybook_protocol::ModelList;
use tallybook_runtime_settings::{RuntimeSettings, SealError, Sealer, SettingsError};
use tallybook_tool_history::ToolHistory;
use tallybook_tools::{FetchPage, FetchPageError, RegistryError, ToolRegistry};

use crate::{
    config::Settings,
    http::{self, AppState, Hosts, PublicUrl, Services, Site},
    page_files::PageFiles,
};

/// Number of keep-alive intervals after which a client that reads nothing is disconnected. It reconnects when it can
/// read again.
const MAX_MISSED_KEEP_ALIVES: u32 = 12;

/// A server that is listening but not yet serving.
pub struct Application {
    server: Server,
    address: SocketAddr,
    service: ConversationService,
    accounts: Accounts,
    grace: Duration,
    public_url: Option<PublicUrl>,
    /// Released last, when nothing uses the database any more.
    _lock: Option<DatabaseLock>,
}

/// The reason why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The database failed while the server looked for turns that an earlier process left running.
    #[error("cannot close the turns that an earlier process left running: {0}")]
    Recover(#[from] ServiceError),
    /// The settings of the models are not valid.
    #[error(transparent)]
    Models(#[from] CatalogError),
    /// The secret key cannot be used.
    #[error(transparent)]
    SecretKey(#[from] SealError),
    /// The settings that admins change while the server runs could not be read.
    #[error("cannot read the models, tool servers and settings that were set in the page: {0}")]
    AddedModels(#[from] SettingsError),
    /// The tools are not valid.
    #[error(transparent)]
    Tools(#[from] RegistryError),
    /// The storage of files cannot be used.
    #[error("the storage in FILES_URL cannot be used: {0}")]
    Files(#[source] FilesError),
    /// The tool that reads web pages cannot be created.
    #[error("FETCH_PAGE is on, but the HTTP client for web pages cannot be created: {0}")]
    FetchPage(#[source] FetchPageError),
    /// The address is in use or not available.
    #[error(
        "cannot listen on {address}: {source}. Set PORT or HOST to another value, or stop the program that uses the \
         port."
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The HTTP server cannot start.
    #[error("the HTTP server cannot start: {0}")]
    Server(#[source] std::io::Error),
}

impl Application {
    /// Opens the database and the port, with the built-in tools. Must run on the multi-threaded runtime that will own
    /// the turns.
    pub async fn build(settings: Settings) -> Result<Self, StartError> {
        let mut tools = tallybook_tools::builtin()?;
        if settings.fetch_page {
            tools = tools.with(FetchPage::new(settings.fetch_page_hosts.clone()).map_err(StartError::FetchPage)?)?;
        }
        Self::build_with_tools(settings, tools).await
    }

    /// Like [`Self::build`], with the caller's own tools.
    pub async fn build_with_tools(settings: Settings, tools: ToolRegistry) -> Result<Self, StartError> {
        Self::build_with_page(settings, tools, Site::built_in()).await
    }

    /// Like [`Self::build`], with the caller's own tools and page.
    pub async fn build_with_page(settings: Settings, tools: ToolRegistry, site: Arc<Site>) -> Result<Self, StartError> {
        let models = Catalog::connect(&settings.models)?;
        let listener = listen(SocketAddr::new(settings.host, settings.port))?;
        drop_stalled_readers(&listener, settings.keep_alive * MAX_MISSED_KEEP_ALIVES).map_err(StartError::Server)?;
        let address = listener.local_addr().map_err(StartError::Server)?;
        let lock = DatabaseLock::take(&settings.database_url).await?;
        let db = Database::connect(&settings.database_url).await?;
        let url = &settings.database_url;
        let sealer = Sealer::new(settings.secret_key.as_ref(), url.is_embedded(), url.key_file())?;
        let is_embedded = url.is_embedded();
        let configured = settings.configured();
        let agent = AgentService::new(settings.system_prompt, settings.limits).with_secrets(settings.secrets.clone());
        let changeable = CurrentSettings::new(ChangeableSettings::default());
        let permissions = Permissions::new(db.clone());
        let conversations = ConversationSettings {
            lease: settings.turn_lease,
            journal_retention: settings.journal_retention,
            changeable: changeable.clone(),
            permissions: permissions.clone(),
        };
        let files = Files::new(db.clone(), settings.files).map_err(StartError::Files)?;
        let pins: Arc<dyn PinStore> = Arc::new(ToolPins::new(db.clone()));
        let find = |name: &str| std::env::var(name).ok();
        let tool_servers = ToolServers::start(tools, settings.tool_servers, &pins, &settings.secrets, find);
        let accounts = Accounts::new(db.clone(), settings.accounts);
        let changing = tallybook_runtime_settings::Services {
            models: models.clone(),
            tool_servers: tool_servers.clone(),
            secrets: settings.secrets,
            conversations: changeable.clone(),
            accounts: accounts.clone(),
            permissions,
        };
        let started = RuntimeSettings::start(db.clone(), sealer, changing, configured);
        let runtime_settings = Box::pin(started).await?;
        let page_files = PageFiles::new(db.clone());
        let (history_db, history_agent, history_tools) = (db.clone(), agent.clone(), tool_servers.clone());
        let service = ConversationService::start(db, agent, tool_servers, models, files, conversations).await?;
        let counts = Arc::clone(service.work_counts());
        let history = ToolHistory::new(
            history_db,
            changeable,
            settings.tool_history_page_time,
            history_agent,
            history_tools,
            counts,
        );
        let hosts = Hosts::new(address.ip(), settings.allowed_hosts);
        let (limits, keep_alive) = (settings.http_limits, settings.keep_alive);
        let kept = page_files.clone();
        let services = Services {
            service: service.clone(),
            accounts: accounts.clone(),
            history: history.clone(),
            settings: runtime_settings.clone(),
        };
        let state = AppState::new(services, Arc::clone(&site), page_files, hosts, limits, keep_alive)
            .with_public_url(settings.public_url.clone())
            .with_metrics_token(settings.metrics_token.clone());
        let server = http::serve(listener, state).map_err(StartError::Server)?;
        service.spawn_until_draining(runtime_settings.watch(is_embedded));
        service.spawn_until_draining(site.keep(kept));
        service.spawn_until_draining(history.run_maintenance());
        service.spawn_until_draining(service.files().clone().run_maintenance());
        if accounts.settings().required {
            service.spawn_until_draining(accounts.clone().run_maintenance());
            service.spawn_until_draining(accounts.clone().watch_streams());
        }
        Ok(Self {
            server,
            address,
            service,
            accounts,
            grace: settings.shutdown_grace,
            public_url: settings.public_url,
            _lock: lock,
        })
    }

    /// Returns the address that the server listens on. For port 0, it has the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a link for the setup of the first admin. It can be used once, within an hour. Returns `None` if no setup
    /// is needed. The first user to open the link can become the admin, so show it only to the operator.
    pub async fn create_setup_link(&self) -> Result<Option<String>, AccountsError> {
        let path = self.accounts.create_setup_link().await?;
        let link = |path| {
            if let Some(public_url) = &self.public_url {
                format!("{public_url}{path}")
            } else if self.address.ip().is_unspecified() {
                format!("http://localhost:{}{path}", self.address.port())
            } else {
                format!("http://{}{path}", self.address)
            }
        };
        Ok(path.map(link))
    }

    /// Returns the models.
    pub fn models(&self) -> ModelList {
        self.service.models().list()
    }

    /// Serves until `stop` completes, then shuts down. The server accepts no new turns, and running turns have the
    /// grace period to finish; other requests are still answered. Then the HTTP server stops, and finally the database
    /// is closed. If the HTTP server fails, the shutdown starts at once and the error is returned.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> std::io::Result<()> {
        let handle = self.server.handle();
        let mut serving = tokio::spawn(self.server);
        tokio::select! {
            () = stop => {}
            ended = &mut serving => {
                self.service.finish_turns(self.grace).await;
                self.service.close().await;
                ended??;
                return Err(std::io::Error::other("the HTTP server stopped unexpectedly"));
            }
        }
        self.service.finish_turns(self.grace).await;
        handle.stop(true).await;
        let served = serving.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        self.service.close().await;
        served
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|source| StartError::Listen { address, source })
}

/// Sets the time after which the system closes a connection whose client accepts no data (`TCP_USER_TIMEOUT`), because
/// undelivered data takes memory. Connections inherit the option from the listener. Only Linux has it.
#[cfg(target_os = "linux")]
fn drop_stalled_readers(listener: &TcpListener, after: Duration) -> std::io::Result<()> {
    socket2::SockRef::from(listener).set_tcp_user_timeout(Some(after))
}

#[cfg(not(target_os = "linux"))]
fn drop_stalled_readers(_: &TcpListener, _: Duration) -> std::io::Result<()> {
    Ok(())
}
