//! One tool call outside of every turn, which no model asks for and none is told of: under the same timeout, panic guard and
//! bounds as a call of a step.

use tallybook_tools::{Secrets, ToolError, ToolRegistry};
use tokio::{task::JoinSet, time::Instant};

use super::{
    limits::Limits,
    recorder::EndedToolCall,
    service::AgentService,
    tool_step::{describe_panic, ended},
};

impl AgentService {
    /// Runs a call to its end. Dropping this cancels it.
    pub async fn call_alone(&self, tools: &ToolRegistry, name: &str, input_text: &str) -> EndedToolCall {
        let started_at = Instant::now();
        let runner = self.runner();
        // Never closed.
        let slot = runner.slots.clone().acquire_owned().await.ok();
        let mut tasks = JoinSet::new();
        tasks.spawn(runner.call(tools.call(name, input_text), Secrets::default(), slot));
        let returned = match tasks.join_next().await {
            Some(Ok(returned)) => returned,
            Some(Err(error)) => Err(describe_panic(&error)),
            None => Err(ToolError::other("interrupted", "the tool did not run")),
        };
        let Limits { stored_output_bytes, .. } = self.limits();
        ended(returned, started_at, stored_output_bytes)
    }
}
