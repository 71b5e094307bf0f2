//! One tool call outside of every turn, which no model asks for and none is told of: under the same timeout, panic guard and
//! bounds as a call of a step.

use tallybook_tools::{Secrets, ToolError, ToolRegistry, hide_arguments};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    limits::Limits, recorder::EndedToolCall, service::AgentService, step_run::ended, tool_step::describe_panic,
};

impl AgentService {
    /// Runs a call to its end, unless as many as may run for as long as one may take. Dropping this cancels it.
    pub async fn call_alone(&self, tools: &ToolRegistry, name: &str, input_text: &str) -> EndedToolCall {
        let started_at = Instant::now();
        let runner = self.runner();
        let Limits { tool_time, stored_output_bytes, .. } = self.limits();
        let Ok(slot) = timeout(tool_time, runner.slots.clone().acquire_owned()).await else {
            let busy = ToolError::other("busy", "too many tools run at the moment; try again");
            return ended(Err(busy), started_at, stored_output_bytes);
        };
        // Never closed.
        let slot = slot.ok();
        let mut tasks = JoinSet::new();
        let hidden = tools.find_spec(name).and_then(|tool| hide_arguments(&tool.input_schema, input_text));
        let secrets = Secrets::of_arguments(hidden.map(|hidden| hidden.values).unwrap_or_default());
        runner.secrets.remember(&secrets);
        tasks.spawn_on(runner.call(tools.call(name, input_text), &secrets, slot), &runner.runtime);
        let returned = match tasks.join_next().await {
            Some(Ok(returned)) => returned,
            Some(Err(error)) => Err(describe_panic(&error)),
            None => Err(ToolError::other("interrupted", "the tool did not run")),
        };
        ended(returned, started_at, stored_output_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tallybook_tools::ToolRegistry;

    use super::super::{limits::Limits, prompt::SystemPrompt, service::AgentService};

    #[tokio::test(start_paused = true)]
    async fn a_call_that_finds_no_slot_in_its_time_fails_as_busy() {
        let limits = Limits { concurrent_calls: 1, tool_time: Duration::from_secs(1), ..Limits::default() };
        let service = AgentService::new(SystemPrompt::BuiltIn, limits);
        let slot = service.runner().slots.clone().acquire_owned().await.unwrap();
        let tools = ToolRegistry::default();
        let error_type = async || service.call_alone(&tools, "add", "{}").await.error_type.unwrap();
        assert_eq!(error_type().await, "busy");
        drop(slot);
        assert_eq!(error_type().await, "unknown_tool");
    }
}
