//! The tool calls of one step: low-risk ones in parallel, as many at a time as the limits allow, and high-risk ones after
//! them, one after another, where they may run at all; each under its own timeout and panic guard. Whatever a tool does,
//! its call ends in a result that the model sees.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    sync::Arc,
};

use tallybook_llm::{ToolCallRequest, ToolResult};
use tallybook_protocol::{ToolCallId, ToolCallStatus};
use tallybook_tools::{Risk, ToolError, ToolOutput, ToolRegistry};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{Id, JoinError, JoinSet},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::PollSemaphore;

use super::{
    error::AgentError,
    halt::Halt,
    limits::{CANCEL_TIMEOUT, Limits},
    recorder::{EndedToolCall, StartedToolCall, TurnRecorder},
    result::{bounded_error, error_json, shorten, success_json},
    turn::PlannedCall,
};

/// Said of a call whose turn ended first.
pub const CUT_OFF: &str = "the turn ended while the tool ran; its outcome is unknown";

type ToolReturn = Result<ToolOutput, ToolError>;

/// Runs the calls of all turns. Its clones share the slots in which calls run.
#[derive(Clone)]
pub(super) struct ToolRunner {
    registry: Arc<ToolRegistry>,
    limits: Limits,
    slots: Arc<Semaphore>,
}

impl ToolRunner {
    pub(super) fn new(registry: Arc<ToolRegistry>, limits: Limits) -> Self {
        Self { registry, limits, slots: Arc::new(Semaphore::new(limits.concurrent_calls.max(1))) }
    }

    pub(super) fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// Runs the calls of one step. Gives their results in the order asked for. A call that must wait for its start has no
    /// row yet; when the turn ends first, it never gets one.
    pub(super) async fn run(
        &self,
        step: u32,
        calls: &[PlannedCall],
        recorder: &mut impl TurnRecorder,
        halt: &Halt<'_>,
    ) -> Result<Vec<ToolResult>, AgentError> {
        let (high, low): (Vec<usize>, Vec<usize>) =
            (0..calls.len()).partition(|&index| self.is_high_risk(&calls[index].request));
        let slots = PollSemaphore::new(self.slots.clone());
        let running = Running { slots, tasks: JoinSet::new(), calls: HashMap::new() };
        let results = vec![None; calls.len()];
        let mut run = StepRun { runner: self, step, calls, recorder, halt, running, results };
        for batch in std::iter::once(low).chain(high.into_iter().map(|index| vec![index])) {
            run.batch(batch.into()).await?;
        }
        Ok(run.results.into_iter().flatten().collect())
    }

    fn is_high_risk(&self, call: &ToolCallRequest) -> bool {
        self.registry.find_spec(&call.name).is_some_and(|spec| spec.risk == Risk::High)
    }

    /// The call with its timeout. It keeps its slot until the tool is through, whoever still waits for it.
    fn call(
        &self,
        request: &ToolCallRequest,
        refused: bool,
        slot: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = ToolReturn> + Send + 'static {
        let limit = self.limits.tool_time;
        // Made only where it may run: what a tool does before its first wait it does at once.
        let call = (!refused).then(|| self.registry.call(&request.name, &request.input_text));
        async move {
            let _slot = slot;
            let Some(call) = call else {
                let message = "this tool needs a person's consent to each call, and nobody can be asked yet";
                return Err(ToolError::other("denied", message));
            };
            let returned = timeout(limit, call).await.unwrap_or_else(|_| {
                let message = format!("the tool gave no result within {} seconds", limit.as_secs());
                Err(ToolError::other("timeout", message))
            });
            returned.map_err(|error| bounded_error(&error))
        }
    }
}

/// One step that is being run.
struct StepRun<'a, R> {
    runner: &'a ToolRunner,
    step: u32,
    calls: &'a [PlannedCall],
    recorder: &'a mut R,
    halt: &'a Halt<'a>,
    running: Running,
    results: Vec<Option<ToolResult>>,
}

/// The calls that run, and what is known of each.
struct Running {
    /// Keeps its place among those that wait for a slot.
    slots: PollSemaphore,
    tasks: JoinSet<ToolReturn>,
    calls: HashMap<Id, RunningCall>,
}

struct RunningCall {
    index: usize,
    id: ToolCallId,
    refused: bool,
    started_at: Instant,
}

/// What happens next in a step.
enum Next {
    /// The turn is over.
    Halt(AgentError),
    /// The next call may start.
    Start(Option<OwnedSemaphorePermit>),
    /// A call ended.
    Ended(Result<(Id, ToolReturn), JoinError>),
}

impl Running {
    /// Waits; `None` when nothing runs and nothing may start.
    async fn next(&mut self, may_start: bool, halt: &Halt<'_>) -> Option<Next> {
        if !may_start && self.tasks.is_empty() {
            return None;
        }
        let Self { slots, tasks, .. } = self;
        tokio::select! {
            biased;
            error = halt.reached() => Some(Next::Halt(error)),
            slot = poll_fn(|context| slots.poll_acquire(context)), if may_start => Some(Next::Start(slot)),
            Some(ended) = tasks.join_next_with_id() => Some(Next::Ended(ended)),
        }
    }
}

impl<R: TurnRecorder> StepRun<'_, R> {
    /// Runs these calls, recording each as it starts and as it ends. When the turn is over first, those that run are
    /// aborted and recorded as cancelled, and the rest never start.
    async fn batch(&mut self, mut waiting: VecDeque<usize>) -> Result<(), AgentError> {
        let most = self.runner.limits.concurrent_calls_per_turn.max(1);
        loop {
            let may_start = !waiting.is_empty() && self.running.calls.len() < most;
            match self.running.next(may_start, self.halt).await {
                None => return Ok(()),
                Some(Next::Start(slot)) => {
                    if let Some(index) = waiting.pop_front() {
                        self.start(index, slot).await?;
                    }
                }
                Some(Next::Ended(ended)) => self.end(ended).await?,
                Some(Next::Halt(error)) => {
                    self.cancel_all().await?;
                    return Err(error);
                }
            }
        }
    }

    /// Stores the call's row, then starts it.
    async fn start(&mut self, index: usize, slot: Option<OwnedSemaphorePermit>) -> Result<(), AgentError> {
        let PlannedCall { position, ref request } = self.calls[index];
        let id = self.recorder.tool_started(&StartedToolCall { step: self.step, position, request }).await?;
        let refused = self.runner.is_high_risk(request) && !self.runner.limits.high_risk;
        let task = self.running.tasks.spawn(self.runner.call(request, refused, slot));
        self.running.calls.insert(task.id(), RunningCall { index, id, refused, started_at: Instant::now() });
        Ok(())
    }

    async fn end(&mut self, ended: Result<(Id, ToolReturn), JoinError>) -> Result<(), AgentError> {
        let (id, returned) = match ended {
            Ok((id, returned)) => (id, returned),
            Err(error) => (error.id(), Err(describe_panic(&error))),
        };
        let Some(call) = self.running.calls.remove(&id) else { return Ok(()) };
        let request = &self.calls[call.index].request;
        if let Err(error) = &returned {
            tracing::info!(tool = request.name, error_type = error.error_type, "a tool call failed");
        }
        let shown_bytes = self.runner.limits.result_bytes(self.calls.len());
        self.results[call.index] = Some(result_for_model(request, &returned, shown_bytes));
        self.recorder.tool_ended(call.id, &self.end_of(returned, &call)).await?;
        Ok(())
    }

    /// Aborts what still runs and records it as cancelled; a tool that does not react to that, as interrupted; and one
    /// that had come to its end meanwhile, as what came of it.
    async fn cancel_all(&mut self) -> Result<(), AgentError> {
        self.running.tasks.abort_all();
        let mut reacted = HashMap::new();
        let patience = Instant::now() + CANCEL_TIMEOUT;
        while let Ok(Some(ended)) = timeout_at(patience, self.running.tasks.join_next_with_id()).await {
            let (id, returned) = ended.map_or_else(|error| (error.id(), None), |(id, returned)| (id, Some(returned)));
            reacted.insert(id, returned);
        }
        // They hold a thread each, and nothing can take it from them.
        self.running.tasks.detach_all();
        let mut calls: Vec<(Id, RunningCall)> = self.running.calls.drain().collect();
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
            self.recorder.tool_ended(call.id, &end).await?;
        }
        Ok(())
    }

    fn end_of(&self, returned: ToolReturn, call: &RunningCall) -> EndedToolCall {
        let duration_ms = duration_ms(call.started_at);
        match returned {
            Ok(output) => EndedToolCall {
                status: ToolCallStatus::Success,
                output: Some(shorten(&output.text, self.runner.limits.stored_output_bytes)),
                error: None,
                error_type: None,
                duration_ms,
            },
            Err(error) => EndedToolCall {
                status: if call.refused { ToolCallStatus::Denied } else { ToolCallStatus::Error },
                output: None,
                error: Some(error.message),
                error_type: Some(error.error_type),
                duration_ms,
            },
        }
    }
}

fn result_for_model(request: &ToolCallRequest, returned: &ToolReturn, shown_bytes: usize) -> ToolResult {
    let content = match returned {
        Ok(output) => success_json(&output.text, output.text.len(), shown_bytes),
        Err(error) => error_json(&error.message, &error.error_type, shown_bytes),
    };
    ToolResult { call_id: request.id.clone(), tool_name: request.name.clone(), content, is_error: returned.is_err() }
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
