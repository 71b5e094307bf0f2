//! Runs the tool calls of one step. Low-risk calls run in parallel, as many at a time as the limits allow. High-risk
//! calls that are approved run after them, one at a time. Each call has its own timeout and panic guard. Whatever a
//! tool does, its call ends in a result that the model sees.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tallybook_llm::ToolResult;
use tallybook_protocol::{ToolCallStatus, Usage, without_nul};
use tallybook_tools::{AdmittedCall, Progress, Secrets, ToolError, ToolOutput, ToolRegistry, UserKey};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{Id, JoinError},
    time::{Instant, timeout, timeout_at},
};
use tracing::{Instrument as _, Span};

use super::{
    error::AgentError,
    halt::Halt,
    limits::CANCEL_TIMEOUT,
    recorder::{Activity, EndedToolCall, TurnRecorder},
    result::bounded_error,
    running::{Next, Running, RunningCall, ToolReturn},
    spans,
    step_run::{Leave, StepRun, ToolRunner, duration_ms, ended, result_for_model},
    turn::PlannedCall,
};

/// Error text of a call whose turn ended before the call did.
pub const CUT_OFF: &str = "the turn ended while the tool ran; its outcome is unknown";

/// Outcome of a step whose calls are done.
pub(crate) struct StepEnd {
    /// The results in the order of the calls; `None` if some of the calls wait for approval.
    pub(crate) results: Option<Vec<ToolResult>>,
    /// Tokens used by the reviewers.
    pub(crate) usage: Usage,
}

impl ToolRunner {
    /// Runs the calls of one step with these tools, for the user with this key. Reviewers receive `request`, the user's
    /// question. The caller must settle the results of the last calls.
    ///
    /// A call that waits for its start or its reviewers has no database row yet. If the turn ends first, it never gets
    /// one.
    pub(crate) async fn run(
        &self,
        (tools, whose): (&ToolRegistry, UserKey),
        request: &str,
        step: u32,
        calls: &[PlannedCall],
        recorder: &mut impl TurnRecorder,
        halt: &Halt<'_>,
    ) -> Result<StepEnd, AgentError> {
        let (high, low): (Vec<usize>, Vec<usize>) =
            (0..calls.len()).partition(|&index| runs_exclusively(tools, &calls[index]));
        let running = Running::new(self.slots.clone());
        let results = vec![None; calls.len()];
        let (calls, usage) = (calls.to_vec(), Usage::default());
        let mut run = StepRun { runner: self, tools, whose, step, calls, recorder, halt, running, results, usage };
        run.batch(low.into()).await?;
        if !high.is_empty() {
            run.recorder.settle().await?;
        }
        let mut reviews = run.review(&high, request).await?;
        let mut is_waiting = false;
        for index in high {
            match run.consent(index, reviews.remove(&index).unwrap_or_default()).await? {
                Leave::Given if is_waiting => {
                    // Calls after a waiting call do not overtake it.
                }
                Leave::Given => {
                    run.batch(vec![index].into()).await?;
                    run.recorder.settle().await?;
                }
                Leave::Refused => {}
                Leave::Awaited => is_waiting = true,
            }
        }
        let results = (!is_waiting).then(|| run.results.into_iter().flatten().collect());
        Ok(StepEnd { results, usage: run.usage })
    }

    /// Returns the call with its timeout, which begins when the tool has room for the call. While the call waits for
    /// room it returns its slot, so that no other tool waits with it. Otherwise it holds the slot until the tool is
    /// done or its time is up, even if the turn no longer waits for it.
    ///
    /// Work that a tool does on a thread can outlast the timeout, because nothing can end it. Those threads have a
    /// limit of their own, in `tallybook_tools`.
    pub(crate) fn call(
        &self,
        mut call: BoxFuture<'static, AdmittedCall>,
        own_secrets: &Secrets,
        slot: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = ToolReturn> + Send + 'static {
        let (limit, slots) = (self.limits.tool_time, Arc::clone(&self.slots));
        let secrets = self.secrets.and(own_secrets);
        async move {
            let (call, _slot) = if let Some(begun) = call.as_mut().now_or_never() {
                (begun, slot)
            } else {
                drop(slot);
                (call.await, slots.acquire_owned().await.ok())
            };
            let returned = timeout(limit, call).await.unwrap_or_else(|_| {
                let message = format!("the tool gave no result within {} seconds", limit.as_secs());
                Err(ToolError::other("timeout", message))
            });
            // Redact before anything is truncated: a cut could leave half of a secret.
            let hide = |text: String| secrets.hide(text).into_owned();
            let returned = returned.map(|output| ToolOutput { text: without_nul(hide(output.text)) });
            returned.map_err(|error| {
                spans::record_failure(&Span::current(), &error.error_type);
                bounded_error(&ToolError { message: hide(error.message), ..error })
            })
        }
    }
}

impl<R: TurnRecorder> StepRun<'_, R> {
    /// Runs these calls and records each as it starts and as it ends. The caller must settle the last results. If the
    /// turn ends first, running calls are aborted and recorded as cancelled, and the others never start.
    async fn batch(&mut self, waiting: VecDeque<usize>) -> Result<(), AgentError> {
        let Err(error) = self.run_all(waiting).await else { return Ok(()) };
        self.cancel_all().await;
        // If nothing can be recorded now, the results are stored with the end of the turn.
        if !matches!(error, AgentError::Record(_)) {
            self.recorder.settle().await?;
        }
        Err(error)
    }

    async fn run_all(&mut self, mut waiting: VecDeque<usize>) -> Result<(), AgentError> {
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
                Some(Next::Ended(ended)) => {
                    self.end(ended);
                    while let Some(ended) = self.running.tasks.try_join_next_with_id() {
                        self.end(ended);
                    }
                    // The last results are settled while the model is already called with them.
                    if !waiting.is_empty() || !self.running.calls.is_empty() {
                        self.recorder.settle().await?;
                    }
                }
                Some(Next::Progress(calls)) => self.report_progress(&calls),
                Some(Next::Halt(error)) => return Err(error),
            }
        }
    }

    /// Stores the call's row, then starts the call.
    async fn start(&mut self, index: usize, slot: Option<OwnedSemaphorePermit>) -> Result<(), AgentError> {
        let call = &self.calls[index];
        let id = self.recorder.tool_started(&call.started(self.step)).await?;
        let (request, progress) = (&call.request, self.running.progress_of(index));
        let input_text = call.secret.as_ref().map_or(&request.input_text, |secret| &secret.input_text);
        let values = call.secret_values();
        let call = self.tools.begin(&request.name, input_text, self.whose, progress);
        let span = spans::execute_tool(&request.name, id);
        let running = self.runner.call(call, &values, slot).instrument(span);
        let task = self.running.tasks.spawn_on(running, &self.runner.runtime);
        self.running.calls.insert(task.id(), RunningCall { index, id, started_at: Instant::now() });
        Ok(())
    }

    /// Sends the progress of the calls that are still running.
    fn report_progress(&mut self, calls: &BTreeMap<usize, Progress>) {
        for call in self.running.calls.values() {
            if let Some(progress) = calls.get(&call.index) {
                let secrets = self.runner.secrets.and(&self.calls[call.index].secret_values());
                let hide = |text: &str| secrets.hide(text).into_owned();
                let progress = Progress { message: progress.message.as_deref().map(hide), ..progress.clone() };
                self.recorder.activity(Activity::CallProgress { id: call.id, progress: &progress });
            }
        }
    }

    fn end(&mut self, ended: Result<(Id, ToolReturn), JoinError>) {
        let (id, returned) = match ended {
            Ok((id, returned)) => (id, returned),
            Err(error) => (error.id(), Err(describe_panic(&error))),
        };
        let Some(call) = self.running.calls.remove(&id) else { return };
        let planned = &self.calls[call.index];
        let request = &planned.request;
        if let Err(error) = &returned {
            tracing::info!(tool = request.name, error_type = error.error_type, "a tool call failed");
        }
        let shown_bytes = self.runner.limits.result_bytes(self.calls.len());
        self.results[call.index] = Some(result_for_model(planned, &returned, shown_bytes));
        let end = self.end_of(returned, &call);
        self.recorder.tool_ended(call.id, &end);
    }

    /// Aborts running calls and records each as cancelled. A call whose tool does not react to that is recorded as
    /// interrupted. A call that finished in the meantime keeps its result.
    async fn cancel_all(&mut self) {
        self.running.tasks.abort_all();
        let mut reacted = HashMap::new();
        let patience = Instant::now() + CANCEL_TIMEOUT;
        while let Ok(Some(ended)) = timeout_at(patience, self.running.tasks.join_next_with_id()).await {
            let (id, returned) = ended.map_or_else(|error| (error.id(), None), |(id, returned)| (id, Some(returned)));
            reacted.insert(id, returned);
        }
        // The remaining tasks each block a thread, and nothing can take it from them.
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
            self.recorder.tool_ended(call.id, &end);
        }
    }

    fn end_of(&self, returned: ToolReturn, call: &RunningCall) -> EndedToolCall {
        ended(returned, call.started_at, self.runner.limits.stored_output_bytes)
    }
}

/// Returns whether a call runs by itself, after the low-risk calls of its step.
fn runs_exclusively(tools: &ToolRegistry, call: &PlannedCall) -> bool {
    call.waited.is_some() || call.needs_consent(tools)
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

pub(crate) fn describe_panic(error: &JoinError) -> ToolError {
    // The panic's own message is in the log. It may contain anything, so the model does not receive it.
    tracing::error!(%error, "a tool panicked");
    ToolError::other("panic", "the tool failed unexpectedly; the server's log says why")
}
