//! Runs one tool call outside any turn. No model asks for the call, and no prompt contains it. The timeout, the panic
//! guard and the size limits are those of a step's call.

use std::future::ready;

use tallybook_tools::{ProgressSender, Secrets, ToolError, ToolRegistry, UserKey, redact_arguments};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{limits::Limits, recorder::EndedToolCall, service::AgentService, tool_step::describe_panic};
use crate::tool_step::ended;

impl AgentService {
    /// Runs a call of this user until it ends. If the tool has no room or no slot is free within the call timeout, the
    /// call fails with `busy`. Dropping the future cancels the call.
    pub async fn run_standalone(
        &self,
        tools: &ToolRegistry,
        user_key: UserKey,
        name: &str,
        input_text: &str,
    ) -> EndedToolCall {
        let started_at = Instant::now();
        let runner = self.runner();
        let Limits { tool_time, stored_output_bytes, .. } = self.limits();
        let begin = async {
            let call = tools.begin(name, input_text, user_key, ProgressSender::noop()).await;
            (runner.slots.clone().acquire_owned().await, call)
        };
        let Ok((slot, call)) = timeout(tool_time, begin).await else {
            let busy = ToolError::other("busy", "too many tools are running; try again in a moment");
            return ended(Err(busy), started_at, stored_output_bytes);
        };
        // The semaphore is never closed, so this is always `Some`.
        let slot = slot.ok();
        let mut tasks = JoinSet::new();
        let redacted = tools.find_spec(name).and_then(|tool| redact_arguments(&tool.input_schema, input_text));
        let secrets = Secrets::of_arguments(redacted.map(|redacted| redacted.values).unwrap_or_default());
        runner.secrets.remember(&secrets);
        tasks.spawn_on(runner.run_with_timeout(Box::pin(ready(call)), &secrets, slot, None), &runner.runtime);
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
    use std::{sync::Arc, time::Duration};

    use futures_util::future::BoxFuture;
    use serde_json::json;
    use tallybook_tools::{
        AdmittedCall, AnyTool, ProgressSender, Risk, Secrets, Slot, ToolError, ToolOutput, ToolRegistry, ToolSpec,
        UserKey,
    };
    use tokio::time::sleep;

    use super::super::{limits::Limits, prompt::SystemPrompt, service::AgentService};

    /// A tool that has room after this number of milliseconds, and whose calls take 800 ms.
    struct Crowded(u64, ToolSpec);

    impl Crowded {
        fn registry(millis: u64) -> ToolRegistry {
            let spec = ToolSpec {
                name: "crowded".to_owned(),
                description: String::new(),
                aliases: Vec::new(),
                input_schema: json!({ "type": "object" }),
                server: None,
                risk: Risk::Low,
                idempotent: false,
                definition_hash: None,
            };
            let mut tools = ToolRegistry::default();
            tools.add(Arc::new(Self(millis, spec))).unwrap();
            tools
        }
    }

    impl AnyTool for Crowded {
        fn spec(&self) -> &ToolSpec {
            &self.1
        }

        fn acquire_slot(self: Arc<Self>, _: UserKey) -> BoxFuture<'static, Result<Option<Slot>, ToolError>> {
            Box::pin(async move {
                sleep(Duration::from_millis(self.0)).await;
                Ok(None)
            })
        }

        fn call(self: Arc<Self>, _: String, _: ProgressSender) -> AdmittedCall {
            Box::pin(async {
                sleep(Duration::from_millis(800)).await;
                Ok(ToolOutput::text("done"))
            })
        }
    }

    fn service() -> AgentService {
        let limits = Limits { concurrent_calls: 1, tool_time: Duration::from_secs(1), ..Limits::default() };
        AgentService::new(SystemPrompt::BuiltIn, limits)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_finds_no_slot_in_its_time_fails_as_busy() {
        let service = service();
        let slot = service.runner().slots.clone().acquire_owned().await.unwrap();
        let tools = ToolRegistry::default();
        let error_type = async || service.run_standalone(&tools, UserKey(1), "add", "{}").await.error_type.unwrap();
        assert_eq!(error_type().await, "busy");
        drop(slot);
        assert_eq!(error_type().await, "unknown_tool");
        let (soon, late) = (Crowded::registry(800), Crowded::registry(1200));
        assert_eq!(service.run_standalone(&soon, UserKey(1), "crowded", "{}").await.output.as_deref(), Some("done"));
        assert_eq!(
            service.run_standalone(&late, UserKey(1), "crowded", "{}").await.error_type.as_deref(),
            Some("busy")
        );
    }

    /// Runs the call as a turn does: the wait for room has no timeout of its own, because the end of the turn bounds
    /// it.
    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_slot_does_not_count_as_the_calls_time() {
        let service = service();
        let slots = service.runner().slots.clone();
        let slot = slots.clone().acquire_owned().await.ok();
        let call = Crowded::registry(10_000).begin("crowded", "{}", UserKey(1), ProgressSender::noop());
        let running = tokio::spawn(service.runner().run_with_timeout(call, &Secrets::default(), slot, None));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(slots.available_permits(), 1, "other tools run meanwhile");
        sleep(Duration::from_millis(5500)).await;
        assert_eq!(slots.available_permits(), 0, "now it runs");
        assert_eq!(running.await.unwrap().unwrap().text, "done");
    }
}
