//! The service that http talks to. Its use cases stand with their subjects: `list`, `branch`, `search`, `turn`, `export`,
//! `tool_call`; its beginning and its end in `lifecycle`.

use std::sync::Arc;

use tallybook_agent::AgentService;
use tallybook_protocol::ModelInfo;

use super::{context::Context, turn_counts::TurnCounts};

/// The use cases of conversations. Cheap to clone; all clones are the same service.
#[derive(Clone)]
pub struct ConversationService {
    pub(super) context: Arc<Context>,
}

impl ConversationService {
    /// The agent that answers.
    pub fn agent(&self) -> &AgentService {
        &self.context.agent
    }

    /// Which model answers.
    pub fn model_info(&self) -> &ModelInfo {
        self.context.agent.model_info()
    }

    /// How many turns this process has started and ended.
    pub(crate) fn turn_counts(&self) -> &TurnCounts {
        &self.context.turn_counts
    }

    /// How many turns run in this process.
    pub fn running_turns(&self) -> usize {
        self.context.running.len()
    }
}
