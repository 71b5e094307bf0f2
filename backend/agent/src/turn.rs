//! The input of a turn, the state it resumes from, its tools and deadline, and its outcome.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use tallybook_llm::{ModelClient, ModelMessage, Sampling, ToolCallRequest, ToolChoice};
use tallybook_protocol::{Plan, PlanStepId, ToolCallId, Usage};
use tallybook_tools::{REDACTED, Risk, Secrets, ToolRegistry, ToolSpec, UserKey};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{error::AgentError, prompt::Zone, recorder::StartedToolCall};

/// Everything a turn starts from.
#[derive(Clone, Debug, Default)]
pub struct TurnInput {
    /// The conversation up to and including the user's message and the answer so far, oldest first. Every call in it
    /// has its result, except the calls in `continued`.
    pub history: Vec<ModelMessage>,
    /// System texts that follow the agent's own prompt and precede the history.
    pub system: Vec<String>,
    /// A model's summary of the conversation before `history`, if `history` does not begin with the first message.
    pub summary: Option<String>,
    /// Sampling parameters of the model.
    pub sampling: Sampling,
    /// Set if the turn resumes after an interruption or a wait for approval.
    pub continued: Option<ResumeState>,
    /// The admins' instructions for all users; empty if there are none.
    pub server_instructions: String,
    /// The user's own instructions for every model; empty if there are none.
    pub instructions: String,
    /// The time zone of the date in the prompt.
    pub zone: Zone,
    /// The user key of its calls.
    pub user_key: UserKey,
    /// The tools that the turn may use until it ends, even if the available tools change in the meantime.
    pub tools: Arc<ToolRegistry>,
    /// The API client's tools, which take precedence if names clash. A step that calls one of them is the turn's last:
    /// the server runs the calls of its own tools, and the client runs the others.
    pub client_tools: Vec<ToolSpec>,
    /// The tool choice: the model may, must, or must not call tools. Ignored if `planning` is set.
    pub tool_choice: ToolChoice,
    /// Set if the question is answered with a plan.
    pub planning: Option<Planning>,
}

/// Settings for answering a question with a plan.
#[derive(Clone)]
pub struct Planning {
    /// The model that makes the plan. The model of the turn works on the steps and judges them.
    pub planner: Arc<dyn ModelClient>,
    /// Maximum number of attempts at one step.
    pub max_attempts: u32,
    /// Maximum number of attempts at all steps together.
    pub max_total_attempts: u32,
}

impl fmt::Debug for Planning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner, max_attempts, max_total_attempts } = self;
        let mut planning = f.debug_struct("Planning");
        planning.field("planner", planner.info()).field("max_attempts", max_attempts);
        planning.field("max_total_attempts", max_total_attempts).finish()
    }
}

/// A plan that a turn resumes.
#[derive(Clone, Debug, Default)]
pub struct ContinuedPlan {
    /// The plan in its current state.
    pub plan: Plan,
    /// The results of the steps that have ended.
    pub results: HashMap<PlanStepId, String>,
}

/// State from which a turn resumes after an interruption or a wait for approval: after its last complete step.
#[derive(Clone, Debug, Default)]
pub struct ResumeState {
    /// The last step whose answer is complete; `None` if there is none.
    pub answered: Option<AnsweredStep>,
    /// The number of the next step.
    pub next_step: u32,
    /// Number of complete steps that count against the limit. Aborted steps do not count.
    pub whole_steps: u32,
    /// Number of calls that were made.
    pub calls: usize,
    /// Tokens of the steps so far.
    pub usage: Usage,
    /// The part of the turn's time limit that is used up.
    pub active: Duration,
    /// The plan to resume, if the turn has one. Then `answered`, and the history after the question, belong to the plan
    /// step in progress or to the final answer.
    pub plan: Option<ContinuedPlan>,
}

/// A step whose answer is complete, although some of its calls may not have run.
#[derive(Clone, Debug)]
pub struct AnsweredStep {
    /// The number of the step.
    pub step: u32,
    /// Why the model stopped, as the step's record says.
    pub stop_reason: String,
    /// `true` if the step asked for any calls.
    pub has_calls: bool,
    /// The calls of the step that are to run now.
    pub calls: Vec<PlannedCall>,
}

/// A call that is to run.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// Position of the call in the step.
    pub position: u32,
    /// The call that the model asked for, with the arguments to run with.
    pub request: ToolCallRequest,
    /// The approval of the call, if it had to wait for one; otherwise `None`.
    pub waited: Option<PendingApproval>,
    /// The full arguments, if secret ones are redacted in `request`. They are only in memory, and dropped soon.
    pub secret: Option<SecretInput>,
}

impl PlannedCall {
    /// Returns the secret argument values to redact from the tool's output.
    pub(crate) fn secret_values(&self) -> Secrets {
        self.secret.as_ref().map(|secret| secret.values.clone()).unwrap_or_default()
    }

    /// Returns `true` if the call is of high risk.
    pub(crate) fn needs_approval(&self, tools: &ToolRegistry) -> bool {
        tools.risk_of(&self.request.name, &self.request.input_text) == Some(Risk::High)
    }

    /// Returns the call as the recorder receives it when it is about to run or needs approval.
    pub(crate) fn started(&self, step: u32) -> StartedToolCall<'_> {
        let waited = self.waited.as_ref().map(|waited| waited.id);
        StartedToolCall { step, position: self.position, request: &self.request, waited }
    }
}

/// A call that had to wait for approval. In a resumed turn it has been approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    /// The ID that the call got when approval was requested.
    pub id: ToolCallId,
    /// [`tallybook_tools::ToolSpec::hash`] of the tool that was approved. If the tool is a different one now, approval
    /// is requested again.
    pub tool_hash: String,
    /// `true` if a user changed the arguments.
    pub is_edited: bool,
}

/// Result of a run of a turn, if the run did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    /// Reason why the run ended.
    pub reason: EndReason,
    /// Tokens of all steps, including plan and review calls.
    pub usage: Usage,
}

/// Reason why a run of a turn ended, if it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The turn is over. The text is the model's stop reason, `step_limit` or `client_calls`.
    Over(String),
    /// Calls wait for a user's decision. Nothing of the turn stays in memory: it resumes from a [`ResumeState`].
    AwaitsApproval,
}

/// The tools of one turn: Tallybook's, which run on the server, and the API client's, whose calls are returned to the
/// client. If two tools have the same name, the client's tool is used.
pub(crate) struct AvailableTools {
    /// The tools sent to the model, in order of their names.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The names of the API client's tools.
    client_tool_names: BTreeSet<String>,
    /// Input schemas of Tallybook's unavailable tools that have secret arguments, by name.
    unavailable_schemas: BTreeMap<String, Arc<Value>>,
}

impl AvailableTools {
    pub(crate) fn new(server_tools: &ToolRegistry, client_tools: Vec<ToolSpec>) -> Self {
        let client_tool_names = client_tools.iter().map(|tool| tool.name.clone()).collect();
        let unavailable_schemas =
            server_tools.unavailable_schemas().map(|(name, schema)| (name.to_owned(), Arc::clone(schema))).collect();
        let specs = server_tools.specs();
        let all = specs.iter().cloned().chain(client_tools).map(|tool| (tool.name.clone(), tool));
        let by_name: BTreeMap<String, ToolSpec> = all.collect();
        Self { specs: by_name.into_values().collect(), client_tool_names, unavailable_schemas }
    }

    /// Returns the input schema of one of Tallybook's tools, which may be unavailable in this turn. Returns `None` if
    /// the name belongs to the client or is unknown.
    pub(crate) fn find_schema(&self, name: &str) -> Option<&Value> {
        if self.client_tool_names.contains(name) {
            return None;
        }
        let offered = self.specs.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
        offered.or_else(|| self.unavailable_schemas.get(name).map(AsRef::as_ref))
    }

    /// Returns the calls of a step that run on the server, and `true` if there are other calls.
    pub(crate) fn server_calls(&self, calls: Vec<PlannedCall>) -> (Vec<PlannedCall>, bool) {
        let all = calls.len();
        let server_calls: Vec<_> =
            calls.into_iter().filter(|call| !self.client_tool_names.contains(&call.request.name)).collect();
        let has_client_calls = server_calls.len() < all;
        (server_calls, has_client_calls)
    }
}

/// The arguments of a call, some of which are secret. They are only in memory, and dropped with the step.
#[derive(Clone)]
pub struct SecretInput {
    /// The complete arguments.
    pub(crate) input_text: String,
    /// The secret values, which the tool may repeat in its output.
    pub(crate) values: Secrets,
}

impl fmt::Debug for SecretInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// The cancellation token and the deadline of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnDeadline<'a> {
    cancel: &'a CancellationToken,
    turn_time: Duration,
    deadline: Instant,
}

impl<'a> TurnDeadline<'a> {
    /// Creates the deadline of a run that begins now. `active` is the part of `turn_time` that earlier runs of the turn
    /// have used.
    pub(crate) fn new(cancel: &'a CancellationToken, turn_time: Duration, active: Duration) -> Self {
        Self { cancel, turn_time, deadline: Instant::now() + turn_time.saturating_sub(active) }
    }

    /// Waits until the turn must end, and returns the reason.
    pub(crate) async fn cancelled_or_elapsed(&self) -> AgentError {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => AgentError::Cancelled,
            () = self.elapsed() => AgentError::TurnTimeout { seconds: self.turn_time.as_secs() },
        }
    }

    async fn elapsed(&self) {
        // The timer counts in whole milliseconds. If no time is left, something could still begin before it fires.
        if Instant::now() < self.deadline {
            sleep_until(self.deadline).await;
        }
    }
}
