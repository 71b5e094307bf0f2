//! Starting the service, asking whether it is ready, and shutting it down.

use std::{sync::Arc, time::Duration};
use tallybook_database::Database;

use tallybook_agent::AgentService;
use tallybook_mcp::ToolServers;
use tokio::{task::JoinHandle, time::timeout};

use super::{
    ServiceError,
    context::{Context, ConversationSettings},
    retention,
    service::ConversationService,
    turn::{self, recovery::Recovery, stop, waiting},
};
use crate::models::Catalog;

/// How long turns that were told to end may take for that, and the database's connections to close.
const END_TIMEOUT: Duration = Duration::from_secs(5);

impl ConversationService {
    /// The service. Closes what an earlier process left running, and goes on looking for
    /// abandoned turns until [`Self::drain`].
    pub async fn start(
        db: Database,
        agent: AgentService,
        tool_servers: ToolServers,
        models: Catalog,
        settings: ConversationSettings,
    ) -> Result<Self, ServiceError> {
        let context = Arc::new(Context::new(db, agent, tool_servers, models, settings));
        let mut recovery = Recovery::new(Arc::clone(&context));
        recovery.close_at_start().await?;
        context.spawn(recovery.watch());
        context.spawn(stop::watch_for_stop_requests(Arc::clone(&context)));
        context.spawn(waiting::watch_waiting_turns(Arc::clone(&context)));
        context.spawn(turn::retention::purge_journals(Arc::clone(&context)));
        context.spawn(retention::purge_deleted(Arc::clone(&context)));
        Ok(Self { context })
    }

    /// Whether the database takes what is written and new turns are taken.
    pub async fn check_ready(&self) -> Result<(), ServiceError> {
        if self.context.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        Ok(self.context.db.check_writable().await?)
    }

    /// Runs a task that shutting down waits for.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.context.spawn(task)
    }

    /// Runs a task beside the turns. It ends when the server drains, at the latest, and so before the database is closed.
    pub fn spawn_until_draining(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.context.spawn_until_draining(task);
    }

    /// Takes no new turns, lets what runs finish within `grace`, and marks the turns that did not as interrupted.
    pub async fn finish_turns(&self, grace: Duration) {
        let context = &self.context;
        context.draining.cancel();
        context.tasks.close();
        if timeout(grace, context.tasks.wait()).await.is_err() {
            let (turns, tasks) = (context.running.len(), context.tasks.len());
            tracing::warn!(turns, tasks, "the grace period is over, so what still runs is ended");
            context.shut_down.cancel();
            if timeout(END_TIMEOUT, context.tasks.wait()).await.is_err() {
                tracing::error!("some turns did not end; they are closed at the next start");
            }
        }
    }

    /// Ends the tool servers and the database's connections. To be called after [`Self::drain`], and when no more requests come:
    /// what those before have begun is waited for.
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
