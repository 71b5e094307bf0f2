//! The tool calls of one step: low-risk ones in parallel, high-risk ones after them, one after another, where they may
//! run at all; each under its own timeout and panic guard. Whatever a tool does, its call ends in a result that the model sees.

use std::{collections::HashMap, time::Duration};

use tallybook_protocol::ToolCallStatus;
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    llm::{ToolCallRequest, ToolResult},
    tools::{Risk, ToolError, ToolOutput},
};

use super::{
    AgentError, AgentService, EndedToolCall, PlannedCall, StartedToolCall, TurnRecorder,
    result::{error_json, shorten, success_json},
};

/// Said of a call whose turn ended first.
pub const CUT_OFF: &str = "the turn ended while the tool ran; its outcome is unknown";

/// How long tools have to react when they are aborted: at once, unless they hold their thread.
const CANCEL_PATIENCE: Duration = Duration::from_millis(500);

type ToolReturn = Result<ToolOutput, ToolError>;

/// The calls that run, and what is known of each.
#[derive(Default)]
struct Running {
    tasks: JoinSet<ToolReturn>,
    calls: HashMap<Id, RunningCall>,
}

struct RunningCall {
    index: usize,
    key: i64,
    refused: bool,
    started_at: Instant,
}

impl AgentService {
    /// Runs the calls of one step. Gives their results in the order asked for.
    pub(super) async fn run_tools(
        &self,
        step: u32,
        calls: &[PlannedCall],
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
        deadline: Instant,
    ) -> Result<Vec<ToolResult>, AgentError> {
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        let is_high = |call: &ToolCallRequest| self.tools.find_spec(&call.name).is_some_and(|s| s.risk == Risk::High);
        let (high, low): (Vec<usize>, Vec<usize>) = (0..calls.len()).partition(|&index| is_high(&calls[index].request));
        let batches = std::iter::once(low).chain(high.into_iter().map(|index| vec![index]));
        for batch in batches {
            let mut running = Running::default();
            for index in batch {
                if cancel.is_cancelled() {
                    break;
                }
                let PlannedCall { position, ref request } = calls[index];
                let key = recorder.tool_started(&StartedToolCall { step, position, request }).await?;
                let refused = is_high(request) && !self.limits.high_risk;
                let call = RunningCall { index, key, refused, started_at: Instant::now() };
                let task = running.tasks.spawn(self.call_in_time(request, refused));
                running.calls.insert(task.id(), call);
            }
            self.collect(&mut running, calls, &mut results, recorder, cancel, deadline).await?;
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Waits for the running calls, recording each as it ends. When the turn is over first, the rest are aborted and
    /// recorded as cancelled.
    async fn collect(
        &self,
        running: &mut Running,
        calls: &[PlannedCall],
        results: &mut [Option<ToolResult>],
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
        deadline: Instant,
    ) -> Result<(), AgentError> {
        loop {
            let ended = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.cancel_all(running, recorder).await?;
                    return Err(AgentError::Cancelled);
                }
                () = sleep_until(deadline) => {
                    self.cancel_all(running, recorder).await?;
                    return Err(self.turn_timeout());
                }
                ended = running.tasks.join_next_with_id() => ended,
            };
            let Some(ended) = ended else { return Ok(()) };
            let (id, returned) = match ended {
                Ok((id, returned)) => (id, returned),
                Err(error) => (error.id(), Err(describe_panic(&error))),
            };
            let Some(call) = running.calls.remove(&id) else { continue };
            let request = &calls[call.index].request;
            if let Err(error) = &returned {
                tracing::info!(tool = request.name, error_type = error.error_type, "a tool call failed");
            }
            results[call.index] = Some(self.result_for_model(request, &returned));
            recorder.tool_ended(call.key, &self.end_of(returned, &call)).await?;
        }
    }

    /// Aborts what still runs and records it as cancelled; a tool that does not react to that, as interrupted; and one that
    /// had come to its end meanwhile, as what came of it.
    async fn cancel_all(&self, running: &mut Running, recorder: &mut impl TurnRecorder) -> Result<(), AgentError> {
        running.tasks.abort_all();
        let mut reacted = HashMap::new();
        let patience = Instant::now() + CANCEL_PATIENCE;
        while let Ok(Some(ended)) = timeout_at(patience, running.tasks.join_next_with_id()).await {
            let (id, returned) = ended.map_or_else(|error| (error.id(), None), |(id, returned)| (id, Some(returned)));
            reacted.insert(id, returned);
        }
        // They hold a thread each, and nothing can take it from them.
        running.tasks.detach_all();
        let mut calls: Vec<(Id, RunningCall)> = running.calls.drain().collect();
        calls.sort_by_key(|(_, call)| call.index);
        for (id, call) in calls {
            let end = match reacted.remove(&id) {
                Some(Some(returned)) => self.end_of(returned, &call),
                Some(None) => broken_off(&call, ToolCallStatus::Cancelled, CUT_OFF, "cancelled"),
                None => {
                    let error = "the turn was ended, and the tool did not react to that; it may still be running";
                    broken_off(&call, ToolCallStatus::Interrupted, error, "interrupted")
                }
            };
            recorder.tool_ended(call.key, &end).await?;
        }
        Ok(())
    }

    fn call_in_time(
        &self,
        request: &ToolCallRequest,
        refused: bool,
    ) -> impl Future<Output = ToolReturn> + Send + 'static {
        let limit = self.limits.tool_time;
        // Made only where it may run: what a tool does before its first wait it does at once.
        let call = (!refused).then(|| self.tools.call(&request.name, &request.input_text));
        async move {
            let Some(call) = call else {
                let message = "this tool needs a person's consent to each call, and nobody can be asked yet";
                return Err(ToolError::other("denied", message));
            };
            timeout(limit, call).await.unwrap_or_else(|_| {
                let message = format!("the tool gave no result within {} seconds", limit.as_secs());
                Err(ToolError::other("timeout", message))
            })
        }
    }

    fn end_of(&self, returned: ToolReturn, call: &RunningCall) -> EndedToolCall {
        let duration_ms = duration_ms(call.started_at);
        let limit = self.limits.stored_output_bytes;
        match returned {
            Ok(output) => EndedToolCall {
                status: ToolCallStatus::Success,
                output: Some(shorten(&output.text, limit)),
                error: None,
                error_type: None,
                duration_ms,
            },
            Err(error) => EndedToolCall {
                status: if call.refused { ToolCallStatus::Denied } else { ToolCallStatus::Error },
                output: None,
                // The column is TEXT, 64 KiB on MySQL.
                error: Some(shorten(&error.message, limit.min(60_000))),
                error_type: Some(error.error_type),
                duration_ms,
            },
        }
    }

    fn result_for_model(&self, request: &ToolCallRequest, returned: &ToolReturn) -> ToolResult {
        let limit = self.limits.model_output_bytes;
        let content = match returned {
            Ok(output) => success_json(&output.text, limit),
            Err(error) => error_json(&error.message, &error.error_type, limit),
        };
        ToolResult {
            call_id: request.id.clone(),
            tool_name: request.name.clone(),
            content,
            is_error: returned.is_err(),
        }
    }
}

fn broken_off(call: &RunningCall, status: ToolCallStatus, error: &str, error_type: &str) -> EndedToolCall {
    EndedToolCall {
        status,
        output: None,
        error: Some(error.to_owned()),
        error_type: Some(error_type.to_owned()),
        duration_ms: duration_ms(call.started_at),
    }
}

fn duration_ms(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

fn describe_panic(error: &JoinError) -> ToolError {
    // The panic's own message is in the log; it may hold anything, so the model is not told.
    tracing::error!(%error, "a tool panicked");
    ToolError::other("panic", "the tool failed unexpectedly; the server's log says why")
}
