//! The service that http talks to. Its use cases stand with their subjects: `list`, `branch`, `search`, `turn`, `export`,
//! `tool_call`; its beginning and its end in `lifecycle`.

use std::sync::Arc;
use tallybook_database::Database;

use tallybook_mcp::{ServerReport, ToolServers};

use super::{context::Context, turn_counts::TurnCounts};
use crate::{accounts::UserId, models::Catalog, work_counts::WorkCounts};

/// The use cases of conversations. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct ConversationService {
    pub(super) context: Arc<Context>,
}

impl ConversationService {
    /// The tools on offer, and the servers that some of them come from.
    pub fn tool_servers(&self) -> &ToolServers {
        &self.context.tool_servers
    }

    /// How each tool server is doing. What one says of itself may repeat what it was told.
    pub fn tool_server_reports(&self) -> Vec<ServerReport> {
        let hidden = |error: String| self.context.agent.hide_everywhere(error);
        let reports = self.context.tool_servers.reports();
        let hide = |report: ServerReport| ServerReport {
            error: report.error.map(hidden),
            plain_error: report.plain_error.map(hidden),
            ..report
        };
        reports.into_iter().map(hide).collect()
    }

    /// The models that answer.
    pub fn models(&self) -> &Catalog {
        &self.context.models
    }

    /// How many turns this process has started and ended.
    pub(crate) fn turn_counts(&self) -> &TurnCounts {
        &self.context.turn_counts
    }

    /// What they did, and calls beside them.
    pub(crate) fn work_counts(&self) -> &Arc<WorkCounts> {
        &self.context.work_counts
    }

    /// Where everything is stored.
    pub(crate) fn database(&self) -> &Database {
        &self.context.db
    }

    /// Remembers a user's time zone by its IANA name.
    pub fn note_time_zone(&self, user: UserId, name: &str) {
        self.context.time_zones.note(user, name);
    }

    /// How many turns run in this process.
    pub fn running_turns(&self) -> usize {
        self.context.running.len()
    }
}
