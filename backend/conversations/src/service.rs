//! The conversation service, which the HTTP handlers call. Its use cases are with their subjects: `list`, `branch`,
//! `search`, `turn`, `export`, `tool_call`. Start and shutdown are in `lifecycle`.

use std::sync::Arc;

use tallybook_accounts::{UserId, UserPermissions};
use tallybook_database::Database;
use tallybook_files::Files;
use tallybook_mcp::{ServerReport, ToolServers};

use crate::{
    ServiceError,
    context::Context,
    models::{Catalog, PermittedModels},
    work_counts::{TurnCounts, WorkCounts},
};

/// The use cases of conversations. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct ConversationService {
    pub(crate) context: Arc<Context>,
}

impl ConversationService {
    /// Returns the available tools, and the tool servers that some of them come from.
    pub fn tool_servers(&self) -> &ToolServers {
        &self.context.tool_servers
    }

    /// Returns the state of each tool server. Secrets are redacted, since a server's error text may repeat what it
    /// received.
    pub fn tool_server_reports(&self) -> Vec<ServerReport> {
        let redact = |error: String| self.context.agent.redact_all(error);
        let reports = self.context.tool_servers.reports();
        let redacted = |report: ServerReport| ServerReport {
            error: report.error.map(redact),
            plain_error: report.plain_error.map(redact),
            ..report
        };
        reports.into_iter().map(redacted).collect()
    }

    /// Returns the catalog of models.
    pub fn models(&self) -> &Catalog {
        &self.context.models
    }

    /// Returns the models that a user may use.
    pub async fn models_of(&self, user: UserId) -> Result<PermittedModels, ServiceError> {
        self.context.models_of(user).await
    }

    /// Returns a user's permissions.
    pub async fn permissions_of(&self, user: UserId) -> Result<UserPermissions, ServiceError> {
        Ok(self.context.settings.permissions.of(user).await?)
    }

    /// Lists the names of a user's groups.
    pub async fn list_groups_of(&self, user: UserId) -> Result<Vec<String>, ServiceError> {
        let groups = self.context.settings.permissions.groups_of(user).await?;
        Ok(groups.into_iter().map(|(_, name)| name).collect())
    }

    /// Returns the numbers of turns that this process has started and ended.
    pub fn turn_counts(&self) -> &TurnCounts {
        &self.context.turn_counts
    }

    /// Returns the counts of the work done in turns and in calls outside turns.
    pub fn work_counts(&self) -> &Arc<WorkCounts> {
        &self.context.work_counts
    }

    /// Returns the files of users.
    pub fn files(&self) -> &Files {
        &self.context.files
    }

    /// Returns the database.
    pub fn database(&self) -> &Database {
        &self.context.db
    }

    /// Remembers a user's time zone by its IANA name.
    pub fn note_time_zone(&self, user: UserId, name: &str) {
        self.context.time_zones.note(user, name);
    }

    /// Returns the number of turns that run in this process.
    pub fn running_turns(&self) -> usize {
        self.context.running.len()
    }
}
