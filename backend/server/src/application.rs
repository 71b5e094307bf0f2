//! The program put together: database, model, agent, conversations and the HTTP server over them.

use std::{
    future::Future,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix_web::dev::Server;
use tallybook_agent::{AgentService, TitleWriter};
use tallybook_protocol::ModelInfo;
use tallybook_tools::{RegistryError, ToolRegistry};
use tokio::runtime::Handle;

use crate::{
    config::Settings,
    conversation::{ConversationService, Lifetimes, ServiceError},
    db::{Database, DatabaseLock, DbError},
    http::{self, AppState, Hosts, Site},
    page_files::PageFiles,
};

/// A reader that takes nothing for so many keep-alives is dropped. It comes back when it can read again.
const MAX_MISSED_KEEP_ALIVES: u32 = 12;

/// A server that is listening and not yet serving.
pub struct Application {
    server: Server,
    address: SocketAddr,
    service: ConversationService,
    grace: Duration,
    /// Given back last, when nothing uses the database any more.
    _lock: Option<DatabaseLock>,
}

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The database, while looking for turns that an earlier process left running.
    #[error("the turns that an earlier run left behind cannot be closed: {0}")]
    Recover(#[from] ServiceError),
    /// The model's settings.
    #[error(transparent)]
    Model(#[from] tallybook_llm::ConnectError),
    /// The tools.
    #[error(transparent)]
    Tools(#[from] RegistryError),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}. Choose another PORT or HOST, or stop the program that uses it.")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The HTTP server.
    #[error("the HTTP server cannot start: {0}")]
    Server(#[source] std::io::Error),
}

impl Application {
    /// Opens the database and the port with the built-in tools. Must run on the multi-threaded runtime that is to own
    /// the turns.
    pub async fn build(settings: Settings) -> Result<Self, StartError> {
        Self::build_with_tools(settings, tallybook_tools::builtin()?).await
    }

    /// The same with tools of the caller's own.
    pub async fn build_with_tools(settings: Settings, tools: ToolRegistry) -> Result<Self, StartError> {
        Self::build_with_page(settings, tools, Site::built_in()).await
    }

    /// The same with a page of the caller's own, too.
    pub async fn build_with_page(settings: Settings, tools: ToolRegistry, site: Arc<Site>) -> Result<Self, StartError> {
        let titles = if settings.titles { settings.model.connect_for_titles()?.map(TitleWriter::new) } else { None };
        let model = settings.model.connect()?;
        let listener = listen(SocketAddr::new(settings.host, settings.port))?;
        drop_stalled_readers(&listener, settings.keep_alive * MAX_MISSED_KEEP_ALIVES).map_err(StartError::Server)?;
        let address = listener.local_addr().map_err(StartError::Server)?;
        let lock = DatabaseLock::take(&settings.database_url).await?;
        let db = Database::connect(&settings.database_url).await?;
        let agent = AgentService::new(model, tools.into(), settings.system_prompt, settings.limits);
        let lifetimes = Lifetimes { lease: settings.turn_lease, journal: settings.journal_retention };
        let page_files = PageFiles::new(db.clone());
        let service = ConversationService::start(db, agent, titles, lifetimes, Handle::current()).await?;
        let hosts = Hosts::new(address.ip(), settings.allowed_hosts);
        let (limits, keep_alive) = (settings.http_limits, settings.keep_alive);
        let runtime = Handle::current();
        let kept = page_files.clone();
        let state = AppState::new(service.clone(), runtime, Arc::clone(&site), page_files, hosts, limits, keep_alive);
        let server = http::serve(listener, state).map_err(StartError::Server)?;
        service.spawn_until_draining(site.keep(kept));
        Ok(Self { server, address, service, grace: settings.shutdown_grace, _lock: lock })
    }

    /// Where it listens; with port 0, which port it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Which model answers.
    pub fn model_info(&self) -> &ModelInfo {
        self.service.model_info()
    }

    /// Serves until `stop` is done, then takes no new turns, lets running ones finish within the grace period, and ends.
    /// Ends early, in the same way, when the HTTP server fails.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> std::io::Result<()> {
        let handle = self.server.handle();
        let mut serving = tokio::spawn(self.server);
        tokio::select! {
            () = stop => {}
            ended = &mut serving => {
                self.service.shut_down(self.grace).await;
                ended??;
                return Err(std::io::Error::other("the HTTP server ended by itself"));
            }
        }
        self.service.shut_down(self.grace).await;
        handle.stop(true).await;
        serving.await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
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

/// Lets the system close connections on which nothing can be delivered for so long: what waits to be sent to a reader
/// that does not read is memory. Connections inherit it from the listener. Other systems than Linux have no such option.
#[cfg(target_os = "linux")]
fn drop_stalled_readers(listener: &TcpListener, after: Duration) -> std::io::Result<()> {
    socket2::SockRef::from(listener).set_tcp_user_timeout(Some(after))
}

#[cfg(not(target_os = "linux"))]
fn drop_stalled_readers(_: &TcpListener, _: Duration) -> std::io::Result<()> {
    Ok(())
}
