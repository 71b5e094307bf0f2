//! The service that http talks to. Its use cases stand with their subjects: `list`, `branch`, `search`, `turn`, `export`,
//! `tool_call`; its beginning and its end in `lifecycle`.

use std::sync::Arc;

use tallybook_mcp::ToolServers;

use super::{context::Context, turn_counts::TurnCounts, work_counts::WorkCounts};
use crate::{db::Database, models::Catalog};

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

    /// The models that answer.
    pub fn models(&self) -> &Catalog {
        &self.context.models
    }

    /// How many turns this process has started and ended.
    pub(crate) fn turn_counts(&self) -> &TurnCounts {
        &self.context.turn_counts
    }

    /// What they did.
    pub(crate) fn work_counts(&self) -> &WorkCounts {
        &self.context.work_counts
    }

    /// Where everything is stored.
    pub(crate) fn database(&self) -> &Database {
        &self.context.db
    }

    /// How many turns run in this process.
    pub fn running_turns(&self) -> usize {
        self.context.running.len()
    }
}
