//! Runs the tool calls of one step, and decides which of them may run.
//!
//! Low-risk calls run in parallel, as many at a time as the limits allow. High-risk calls run after them, one at a
//! time: reviewers vote on them, and unless they are approved, approval is requested. Each call has its own timeout and
//! panic guard. Whatever a tool does, its call ends in a result that the model sees.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    pin::pin,
    sync::Arc,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use tallybook_llm::{ToolResult, UserPart};
use tallybook_protocol::{Decision, ToolCallStatus, Usage, without_nul};
use tallybook_tools::{AdmittedCall, Progress, Secrets, ToolError, ToolOutput, ToolRegistry, ToolSpec, UserKey};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{Id, JoinError},
    time::{Instant, timeout, timeout_at},
};
use tracing::{Instrument as _, Span};

use crate::{
    call_files::{CallOutput, ImageStore, StoredImages},
    error::AgentError,
    limits::{CANCEL_TIMEOUT, Limits, MAX_REVIEWED_CALLS, MAX_REVIEWED_INPUT_BYTES},
    recorder::{Activity, ApprovalRequest, EndedToolCall, TurnRecorder},
    result::{bounded_error, error_json, shorten, success_json},
    review::{Reviewers, Subject, Voted},
    running::{Next, Running, RunningCall, ToolReturn},
    spans,
    turn::{PendingApproval, PlannedCall, TurnDeadline},
    vote::{Review, Vote},
};

/// Error text of a call whose turn ended before the call did.
pub const OUTCOME_UNKNOWN: &str = "the turn ended while the tool ran; its outcome is unknown";

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
        (tools, user_key): (&ToolRegistry, UserKey),
        request: &str,
        step: u32,
        calls: &[PlannedCall],
        recorder: &mut impl TurnRecorder,
        turn_deadline: &TurnDeadline<'_>,
    ) -> Result<StepEnd, AgentError> {
        let (high, low): (Vec<usize>, Vec<usize>) =
            (0..calls.len()).partition(|&index| runs_exclusively(tools, &calls[index]));
        let running = Running::new(self.slots.clone());
        let results = vec![None; calls.len()];
        let (calls, usage) = (calls.to_vec(), Usage::default());
        let mut run =
            StepRun { runner: self, tools, user_key, step, calls, recorder, turn_deadline, running, results, usage };
        run.batch(low.into()).await?;
        if !high.is_empty() {
            run.recorder.settle().await?;
        }
        let mut reviews = run.review(&high, request).await?;
        let mut is_waiting = false;
        for index in high {
            match run.permission(index, reviews.remove(&index).unwrap_or_default()).await? {
                Permission::Granted if is_waiting => {
                    // Calls after a waiting call do not overtake it.
                }
                Permission::Granted => {
                    run.batch(vec![index].into()).await?;
                    run.recorder.settle().await?;
                }
                Permission::Denied => {}
                Permission::Pending => is_waiting = true,
            }
        }
        let results = (!is_waiting).then(|| run.results.into_iter().flatten().collect());
        Ok(StepEnd { results, usage: run.usage })
    }

    /// Runs a call. Its timeout starts when the tool admits it. Until then, the call gives its slot among the running
    /// calls to others, so that it does not block other tools. Afterwards it keeps the slot until the tool is done or
    /// the timeout is over, even if the turn no longer waits for it.
    ///
    /// Images are stored for the user `images_of`. If it is `None`, they are left out.
    ///
    /// Work that a tool does on a thread can outlast the timeout, because nothing can end it. Those threads have a
    /// limit of their own, in `tallybook_tools`.
    pub(crate) fn run_with_timeout(
        &self,
        mut call: BoxFuture<'static, AdmittedCall>,
        own_secrets: &Secrets,
        slot: Option<OwnedSemaphorePermit>,
        images_of: Option<UserKey>,
    ) -> impl Future<Output = ToolReturn> + Send + 'static {
        let (limit, slots) = (self.limits.tool_time, Arc::clone(&self.slots));
        let secrets = self.secrets.and(own_secrets);
        let store = images_of.and_then(|user| Some((user, Arc::clone(self.images.as_ref()?))));
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
            // Redacts before anything is truncated, because truncation could leave half of a secret.
            let redact = |text: String| secrets.redact(text).into_owned();
            let output = match returned {
                Ok(ToolOutput { text, images }) => {
                    let mut text = without_nul(redact(text));
                    let StoredImages { files, notes } = match store {
                        Some((user, store)) if !images.is_empty() => {
                            let stored = timeout(limit, store.store(user, images)).await;
                            stored.unwrap_or_else(|_| StoredImages {
                                files: Vec::new(),
                                notes: vec!["[The images could not be stored in time.]".to_owned()],
                            })
                        }
                        _ => StoredImages::default(),
                    };
                    for note in notes {
                        text = text + "\n" + &note;
                    }
                    Ok(CallOutput { text, files })
                }
                Err(error) => Err(error),
            };
            output.map_err(|error| {
                spans::record_failure(&Span::current(), &error.error_type);
                bounded_error(&ToolError { message: redact(error.message), ..error })
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
            match self.running.next(may_start, self.turn_deadline).await {
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
                Some(Next::TurnDeadline(error)) => return Err(error),
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
        let call = self.tools.begin(&request.name, input_text, self.user_key, progress);
        let span = spans::execute_tool(&request.name, id);
        let running = self.runner.run_with_timeout(call, &values, slot, Some(self.user_key)).instrument(span);
        let task = self.running.tasks.spawn_on(running, &self.runner.runtime);
        self.running.calls.insert(task.id(), RunningCall { index, id, started_at: Instant::now() });
        Ok(())
    }

    /// Sends the progress of the calls that are still running.
    fn report_progress(&mut self, calls: &BTreeMap<usize, Progress>) {
        for call in self.running.calls.values() {
            if let Some(progress) = calls.get(&call.index) {
                let secrets = self.runner.secrets.and(&self.calls[call.index].secret_values());
                let redact = |text: &str| secrets.redact(text).into_owned();
                let progress = Progress { message: progress.message.as_deref().map(redact), ..progress.clone() };
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
        let cancel_deadline = Instant::now() + CANCEL_TIMEOUT;
        while let Ok(Some(ended)) = timeout_at(cancel_deadline, self.running.tasks.join_next_with_id()).await {
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
                Some(None) => aborted_call(&call, ToolCallStatus::Cancelled, OUTCOME_UNKNOWN, "cancelled"),
                None => {
                    let error = "the turn ended, but the tool did not stop; it may still be running";
                    aborted_call(&call, ToolCallStatus::Interrupted, error, "interrupted")
                }
            };
            self.recorder.tool_ended(call.id, &end);
        }
    }

    fn end_of(&self, returned: ToolReturn, call: &RunningCall) -> EndedToolCall {
        ended(returned, call.started_at, self.runner.limits.stored_output_bytes)
    }
}

/// Returns `true` if a call runs by itself, after the low-risk calls of its step.
fn runs_exclusively(tools: &ToolRegistry, call: &PlannedCall) -> bool {
    call.waited.is_some() || call.needs_approval(tools)
}

fn aborted_call(call: &RunningCall, status: ToolCallStatus, error: &str, error_type: &str) -> EndedToolCall {
    EndedToolCall {
        status,
        output: None,
        error: Some(error.to_owned()),
        error_type: Some(error_type.to_owned()),
        duration_ms: duration_ms(call.started_at),
        files: Vec::new(),
    }
}

pub(crate) fn describe_panic(error: &JoinError) -> ToolError {
    // The panic's own message is in the log. It may contain anything, so the model does not receive it.
    tracing::error!(%error, "a tool panicked");
    ToolError::other("panic", "the tool failed unexpectedly; the server's log says why")
}

/// Runs the calls of all turns. Clones share the slots in which calls run.
#[derive(Clone)]
pub(crate) struct ToolRunner {
    pub(crate) limits: Limits,
    pub(crate) slots: Arc<Semaphore>,
    /// The models that review high-risk calls.
    pub(crate) reviewers: Option<Arc<Reviewers>>,
    /// Values to redact from the output of tools.
    pub(crate) secrets: Secrets,
    /// The store of images that tools return. `None` leaves them out.
    pub(crate) images: Option<Arc<dyn ImageStore>>,
    /// The runtime on which calls run: on other threads than turns, because a tool may block its thread.
    pub(crate) runtime: Handle,
}

impl ToolRunner {
    /// Creates a runner whose calls run on the current runtime.
    pub(crate) fn new(limits: Limits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.concurrent_calls.max(1)));
        let (secrets, runtime) = (Secrets::default(), Handle::current());
        Self { limits, slots, reviewers: None, secrets, images: None, runtime }
    }

    pub(crate) fn with_reviewers(self, reviewers: Option<Arc<Reviewers>>) -> Self {
        Self { reviewers, ..self }
    }

    pub(crate) fn with_images(self, images: Arc<dyn ImageStore>) -> Self {
        Self { images: Some(images), ..self }
    }

    pub(crate) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }
}

/// A step that is being run.
pub(crate) struct StepRun<'a, R> {
    pub(crate) runner: &'a ToolRunner,
    pub(crate) tools: &'a ToolRegistry,
    pub(crate) user_key: UserKey,
    pub(crate) step: u32,
    pub(crate) calls: Vec<PlannedCall>,
    pub(crate) recorder: &'a mut R,
    pub(crate) turn_deadline: &'a TurnDeadline<'a>,
    pub(crate) running: Running,
    pub(crate) results: Vec<Option<ToolResult>>,
    /// Tokens used by the reviewers.
    pub(crate) usage: Usage,
}

/// The outcome of the approval check of a call.
pub(crate) enum Permission {
    Granted,
    /// The call never runs. Its result tells the model why.
    Denied,
    /// A user must decide.
    Pending,
}

/// Returns the result that the model receives for a call that ended.
fn result_for_model(call: &PlannedCall, returned: &ToolReturn, shown_bytes: usize) -> ToolResult {
    let request = &call.request;
    let edited = call.waited.as_ref().filter(|waited| waited.is_edited).map(|_| request.input_text.as_str());
    let content = match returned {
        Ok(output) => success_json(&request.name, &output.text, output.text.len(), edited, shown_bytes),
        Err(error) => error_json(&request.name, &error.message, &error.error_type, edited, shown_bytes),
    };
    let files = returned.as_ref().map(|output| output.files.as_slice()).unwrap_or_default();
    ToolResult {
        call_id: request.id.clone(),
        tool_name: request.name.clone(),
        content,
        is_error: returned.is_err(),
        images: files.iter().map(|file| UserPart::Image(file.image.clone())).collect(),
    }
}

/// Returns the record of a call that ended, with its output truncated to `stored_output_bytes`.
pub(crate) fn ended(returned: ToolReturn, started_at: Instant, stored_output_bytes: usize) -> EndedToolCall {
    let duration_ms = duration_ms(started_at);
    match returned {
        Ok(output) => EndedToolCall {
            status: ToolCallStatus::Success,
            output: Some(shorten(&output.text, stored_output_bytes)),
            error: None,
            error_type: None,
            duration_ms,
            files: output.files,
        },
        Err(error) => EndedToolCall {
            status: ToolCallStatus::Error,
            output: None,
            error: Some(error.message),
            error_type: Some(error.error_type),
            duration_ms,
            files: Vec::new(),
        },
    }
}

pub(crate) fn duration_ms(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// Error text of a call that needs approval but has secret arguments.
const CANNOT_WAIT: &str = "the call has secret arguments, which are never stored, so it cannot wait for approval; the \
                           operator can allow calls of this tool without approval (risk = \"low\")";

impl<R: TurnRecorder> StepRun<'_, R> {
    /// Has the reviewers vote on the high-risk calls that need approval, up to the limits for reviews. Returns the
    /// reviews by the index of the call.
    pub(crate) async fn review(&mut self, high: &[usize], request: &str) -> Result<HashMap<usize, Review>, AgentError> {
        let Some(reviewers) = self.runner.reviewers.as_deref() else { return Ok(HashMap::new()) };
        let Self { tools, step, calls, recorder, turn_deadline, usage, .. } = self;
        let (mut indexes, mut subjects) = (Vec::new(), Vec::new());
        for &index in high {
            let input = &calls[index].request.input_text;
            let Some(tool) = unapproved_tool(tools, &calls[index]) else { continue };
            if subjects.len() < MAX_REVIEWED_CALLS
                && input.len() <= MAX_REVIEWED_INPUT_BYTES
                && !recorder.has_saved_approval(tool).await?
            {
                indexes.push(index);
                subjects.push(Subject { request, tool, input });
            }
        }
        let mut votes = pin!(reviewers.votes(&subjects, *step, turn_deadline));
        let mut cast = vec![Vec::new(); subjects.len()];
        let mut over = None;
        while let Some(Voted { subject, reviewer, vote, call }) = votes.next().await {
            if let Some(call) = call {
                recorder.model_called(&call).await?;
                *usage += call.usage;
            }
            match vote {
                Ok(vote) => cast[subject].push((reviewer, vote)),
                Err(error) => over = Some(error),
            }
        }
        if let Some(error) = over {
            return Err(error);
        }
        let review = |mut votes: Vec<(usize, Vote)>| {
            votes.sort_by_key(|(reviewer, _)| *reviewer);
            reviewers.review(votes.into_iter().map(|(_, vote)| vote).collect())
        };
        Ok(indexes.into_iter().zip(cast.into_iter().map(review)).collect())
    }

    /// Decides whether a call that needs approval may run. If the tool is no longer the one that was approved, approval
    /// is requested again.
    async fn permission(&mut self, index: usize, review: Review) -> Result<Permission, AgentError> {
        let call = &mut self.calls[index];
        let Some(tool) = unapproved_tool(self.tools, call) else { return Ok(Permission::Granted) };
        if call.secret.is_some() && review.outcome.is_none() && !self.recorder.has_saved_approval(tool).await? {
            return self.deny_secret_call(index).await;
        }
        let id = match self.recorder.request_approval(&call.started(self.step), tool, &review).await? {
            ApprovalRequest::AlwaysAllowed => return Ok(Permission::Granted),
            ApprovalRequest::Requested(id) => id,
        };
        let is_edited = call.waited.as_ref().is_some_and(|waited| waited.is_edited);
        call.waited = Some(PendingApproval { id, tool_hash: tool.hash(), is_edited });
        let Some(outcome) = review.outcome else { return Ok(Permission::Pending) };
        if outcome.decision == Decision::Approve {
            return Ok(Permission::Granted);
        }
        self.refuse(index, ToolError::other(ToolCallStatus::Denied.as_str(), outcome.refusal()));
        Ok(Permission::Denied)
    }

    /// Refuses a call with secret arguments that would have to wait for approval: a waiting turn keeps nothing in
    /// memory, and secrets are never stored.
    async fn deny_secret_call(&mut self, index: usize) -> Result<Permission, AgentError> {
        let id = self.recorder.tool_started(&self.calls[index].started(self.step)).await?;
        let error = ToolError::other("secret_cannot_wait", CANNOT_WAIT);
        let end = ended(Err(error.clone()), Instant::now(), self.runner.limits.stored_output_bytes);
        self.refuse(index, error);
        self.recorder.tool_ended(id, &end);
        self.recorder.settle().await?;
        Ok(Permission::Denied)
    }

    fn refuse(&mut self, index: usize, error: ToolError) {
        let shown_bytes = self.runner.limits.result_bytes(self.calls.len());
        self.results[index] = Some(result_for_model(&self.calls[index], &Err(error), shown_bytes));
    }
}

/// Returns the tool of a call that needs approval and does not have it; otherwise `None`.
fn unapproved_tool<'a>(tools: &'a ToolRegistry, call: &PlannedCall) -> Option<&'a ToolSpec> {
    let tool = tools.find_spec(&call.request.name).filter(|_| call.needs_approval(tools))?;
    let is_approved = call.waited.as_ref().is_some_and(|waited| waited.tool_hash == tool.hash());
    (!is_approved).then_some(tool)
}
