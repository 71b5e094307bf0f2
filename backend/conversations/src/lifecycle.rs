//! Starts the service, checks its readiness, and shuts it down.

use std::{sync::Arc, time::Duration};

use tallybook_agent::AgentService;
use tallybook_database::Database;
use tallybook_files::Files;
use tallybook_mcp::ToolServers;
use tokio::{task::JoinHandle, time::timeout};

use crate::models::Catalog;
use crate::{
    ConversationSettings, ServiceError,
    context::Context,
    retention, search,
    service::ConversationService,
    turn::{self, approval::timeout, recovery::Recovery, stop},
};

/// Timeout of each phase of a shutdown: for cancelled turns to end, for remaining requests, and for closing the
/// database's connections.
const END_TIMEOUT: Duration = Duration::from_secs(5);

impl ConversationService {
    /// Starts the service and its background tasks, which run until [`Self::finish_turns`]. If the database is
    /// embedded, first closes the turns that an earlier process left running.
    pub async fn start(
        db: Database,
        agent: AgentService,
        tool_servers: ToolServers,
        models: Catalog,
        files: Files,
        settings: ConversationSettings,
    ) -> Result<Self, ServiceError> {
        let context = Arc::new(Context::new(db, agent, tool_servers, models, files, settings));
        let mut recovery = Recovery::new(Arc::clone(&context));
        recovery.close_at_start().await?;
        context.spawn(recovery.watch());
        context.spawn(stop::watch_for_stop_requests(Arc::clone(&context)));
        context.spawn(timeout::watch_waiting_turns(Arc::clone(&context)));
        context.spawn(turn::recovery::purge_journals(Arc::clone(&context)));
        context.spawn(retention::purge_deleted(Arc::clone(&context)));
        context.spawn(search::index::fill::watch(Arc::clone(&context)));
        Ok(Self { context })
    }

    /// Checks that the database accepts writes and that new turns are accepted. Fails with `ShuttingDown` while the
    /// server drains.
    pub async fn check_ready(&self) -> Result<(), ServiceError> {
        if self.context.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        Ok(self.context.db.check_writable().await?)
    }

    /// Spawns a task that shutdown waits for.
    pub fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.context.spawn(task)
    }

    /// Spawns a task that ends when the server drains at the latest, and so before the database is closed.
    pub fn spawn_until_draining(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.context.spawn_until_draining(task);
    }

    /// Stops accepting turns, and lets running turns and tasks finish within `grace`. Turns that do not finish are
    /// marked as interrupted.
    pub async fn finish_turns(&self, grace: Duration) {
        let context = &self.context;
        context.draining.cancel();
        context.tasks.close();
        if timeout(grace, context.tasks.wait()).await.is_err() {
            let (turns, tasks) = (context.running.len(), context.tasks.len());
            tracing::warn!(turns, tasks, "the grace period is over; cancelling the work that still runs");
            context.shut_down.cancel();
            if timeout(END_TIMEOUT, context.tasks.wait()).await.is_err() {
                tracing::error!("some turns did not end; they are closed at the next start");
            }
        }
    }

    /// Shuts down the tool servers and closes the database's connections. Call this after [`Self::finish_turns`], when
    /// no more requests arrive: it waits for what earlier requests have begun.
    pub async fn close(&self) {
        let context = &self.context;
        if timeout(END_TIMEOUT, context.tasks.wait()).await.is_err() {
            tracing::error!("some requests did not end before the database was closed");
        }
        context.tool_servers.shut_down().await;
        if timeout(END_TIMEOUT, context.db.close()).await.is_err() {
            tracing::error!("the database's connections could not be closed in time");
        }
    }
}
