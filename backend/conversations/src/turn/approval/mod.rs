//! Handles decisions on calls that wait for approval, one or several at once. When all waiting calls of a turn are
//! decided, resumes the turn. Waiting calls exist only in the database, so any process can handle a decision.

pub(crate) mod timeout;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tallybook_accounts::UserId;
use tallybook_database::{now, with_retries};
use tallybook_protocol::{
    CallDecision, DeciderKind, Decision, MessageId, MessageStatus, NewDecision, NewDecisions, RawJson, ToolCall,
    ToolCallId,
};
use tallybook_tools::{MAX_INPUT_BYTES, ToolError, ToolSpec, redact_arguments};
use uuid::Uuid;

use crate::{
    ServiceError,
    context::Context,
    journal::TurnSubscription,
    limits::{MAX_DECISIONS, MAX_REASON_BYTES},
    service::ConversationService,
    store::{
        approvals::{self, DecidableRow, NewApproval, NewVerdict},
        decisions::{self, Decider},
        messages,
        rows::{ConversationRow, StateRow},
        tool_calls,
        turns::{ResumeReason, TurnRows},
    },
    turn::{
        resume::{ResumeTurn, resume},
        start::StartPermit,
        subscribe::EventsAnswer,
    },
};

/// Maximum time that a decision waits for the end of the run that requested it. The run ends right after its last
/// request for approval, so a decision waits only if the user is very quick or the database is slow.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval at which the status of the run is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Result of a decision.
#[derive(Debug)]
pub enum DecisionAnswer {
    /// The decided calls. The turn does not run, usually because other calls of its step still wait.
    Calls(Vec<ToolCall>),
    /// Events of the turn. None of its calls waits any more.
    Turn(TurnSubscription),
}

impl ConversationService {
    /// Decides on one call.
    pub async fn decide(
        &self,
        user: UserId,
        tool_call_id: ToolCallId,
        new: NewDecision,
    ) -> Result<DecisionAnswer, ServiceError> {
        let NewDecision { decision, reason, input, remember } = new;
        self.decide_all(user, None, &[CallDecision { tool_call_id, decision, reason, input, remember }]).await
    }

    /// Decides on several calls of a conversation. If one of the decisions is refused, none is stored.
    pub async fn decide_several(
        &self,
        user: UserId,
        uuid: Uuid,
        new: NewDecisions,
    ) -> Result<DecisionAnswer, ServiceError> {
        self.context.find_conversation(user, uuid).await?;
        self.decide_all(user, Some(uuid), &new.decisions).await
    }

    /// Checks and stores the decisions, and resumes the turn if no call waits any more. If `uuid` is set, all calls
    /// must be in that conversation.
    async fn decide_all(
        &self,
        user: UserId,
        uuid: Option<Uuid>,
        decisions: &[CallDecision],
    ) -> Result<DecisionAnswer, ServiceError> {
        let context = &self.context;
        check_decisions(decisions)?;
        let permit = StartPermit::take(context)?;
        let calls = find_own_calls(context, user, uuid, decisions).await?;
        let Some(DecidableRow { message_id, uuid, .. }) = calls.first() else {
            return Err(ServiceError::NoSuchToolCall);
        };
        let (message_id, uuid) = (*message_id, *uuid);
        for call in &calls {
            check_waits(context, call).await?;
        }
        check_tools(context, decisions, &calls).await?;
        let row = context.find_conversation(user, uuid).await?;
        wait_for_end_of_run(context, &row, message_id).await?;
        let name = decisions::find_user_name(&context.db, user).await?;
        let decider = Decider::User { id: user, name: &name };
        if let Some(id) = with_retries(|| store(context, decider, decisions, &calls)).await? {
            return Err(not_stored(context, id).await?);
        }
        if approvals::list_waiting(&context.db, message_id).await?.is_empty() {
            match resume_decided(context, &permit, user, uuid, message_id).await {
                Ok(Some(events)) => return Ok(DecisionAnswer::Turn(events)),
                // Another process has resumed the turn, the turn was stopped, or its last run has not ended.
                Ok(None) => {
                    if let EventsAnswer::Turn(events) = self.events(user, uuid, None).await? {
                        return Ok(DecisionAnswer::Turn(events));
                    }
                }
                // The decisions stay stored. `timeout` resumes the turn once the user's limits permit it, and a model
                // is available to the user.
                Err(ServiceError::LimitReached(_) | ServiceError::NoModel) => {}
                Err(error) => return Err(error),
            }
        }
        let mut calls = tool_calls::list_truncated_tool_calls_of(&context.db, message_id).await?;
        calls.retain(|call| decisions.iter().any(|decided| decided.tool_call_id == call.tool_call_id));
        Ok(DecisionAnswer::Calls(calls))
    }
}

/// Validates decisions on tool calls: everything that can be checked without the stored calls.
fn check_decisions(decisions: &[CallDecision]) -> Result<(), ServiceError> {
    if !(1..=MAX_DECISIONS).contains(&decisions.len()) {
        return Err(invalid("Send 1 to 1000 decisions, one for each call."));
    }
    let calls: HashSet<ToolCallId> = decisions.iter().map(|decided| decided.tool_call_id).collect();
    if calls.len() < decisions.len() {
        return Err(invalid("One call has two decisions. Send one decision for each call."));
    }
    decisions.iter().try_for_each(check_decision)
}

fn check_decision(decided: &CallDecision) -> Result<(), ServiceError> {
    let CallDecision { decision, reason, input, remember, .. } = decided;
    if reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        return Err(invalid("The reason is too long. Use at most 4096 bytes."));
    }
    if reason.as_ref().is_some_and(|reason| reason.contains('\0')) {
        return Err(invalid("The reason contains a NUL character. Remove it and send again."));
    }
    if *decision == Decision::Deny && (input.is_some() || remember.is_some()) {
        return Err(invalid("A denial takes neither input nor remember. Leave them out, or approve the call."));
    }
    let Some(input) = input.as_ref().map(RawJson::as_str) else { return Ok(()) };
    if input.len() > MAX_INPUT_BYTES {
        return Err(invalid("The edited input is too long. Use at most 1048576 bytes."));
    }
    if !input.starts_with('{') {
        return Err(invalid("The edited input must be a JSON object."));
    }
    Ok(())
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::Invalid(message.to_owned())
}

/// Error message for an edited input that contains secret arguments.
const SECRET_INPUT: &str = "The tool's schema marks some of these arguments as secret. They are not kept, so the call cannot run \
                            with them later. Leave them out.";

/// Finds the calls to decide on, ordered by ID. Fails unless all of them belong to the user and, if `uuid` is set, to
/// that conversation.
async fn find_own_calls(
    context: &Context,
    user: UserId,
    uuid: Option<Uuid>,
    decisions: &[CallDecision],
) -> Result<Vec<DecidableRow>, ServiceError> {
    let mut ids: Vec<ToolCallId> = decisions.iter().map(|decided| decided.tool_call_id).collect();
    // Sorted, so that concurrent requests lock the calls' rows in the same order and cannot deadlock.
    ids.sort_unstable();
    let mut calls = approvals::find_calls(&context.db, &ids).await?;
    calls.retain(|call| call.user_id == user && uuid.is_none_or(|uuid| uuid == call.uuid));
    if calls.len() == ids.len() { Ok(calls) } else { Err(ServiceError::NoSuchToolCall) }
}

/// Fails with `AlreadyDecided` if the call no longer waits for a decision.
async fn check_waits(context: &Context, call: &DecidableRow) -> Result<(), ServiceError> {
    if call.is_waiting() { Ok(()) } else { Err(already_decided(context, call.id).await?) }
}

/// Returns the error for a call whose decision could not be stored: another request has decided on it, or has requested
/// approval again for a newer definition of its tool.
async fn not_stored(context: &Context, id: ToolCallId) -> sqlx::Result<ServiceError> {
    let calls = approvals::find_calls(&context.db, &[id]).await?;
    let waiting = calls.iter().find(|call| call.is_waiting());
    match waiting.and_then(|call| context.tool_servers.tools().find_spec(&call.tool_name).cloned()) {
        Some(ToolSpec { name, description, .. }) => Ok(ServiceError::ToolChanged { name, description }),
        None => already_decided(context, id).await,
    }
}

/// Returns the error for a call that no longer waits. The message says who decided and how, if the call was decided.
async fn already_decided(context: &Context, id: ToolCallId) -> sqlx::Result<ServiceError> {
    let Some(decided) = decisions::find(&context.db, id).await? else {
        return Ok(ServiceError::AlreadyDecided("it is not waiting for a decision".to_owned()));
    };
    let what = if decided.decision == Decision::Approve { "approved" } else { "refused" };
    let by = match decided.decided_by_kind {
        DeciderKind::User | DeciderKind::Unknown => format!(" by {}", decided.decided_by),
        DeciderKind::Review => " by the reviewing models".to_owned(),
        DeciderKind::Timeout => String::new(),
    };
    let reason = decided.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    Ok(ServiceError::AlreadyDecided(format!("it was {what}{by}{reason}")))
}

/// Checks the approvals against the current tools. Fails if an edited input is invalid or contains secret arguments, or
/// if a tool has changed since its approval was requested. The calls still wait after a failure.
///
/// The error describes one changed tool, so only that tool's calls then wait for a decision on the new definition.
/// Other changed tools are reported by the next decisions, one at a time.
async fn check_tools(
    context: &Context,
    decisions: &[CallDecision],
    calls: &[DecidableRow],
) -> Result<(), ServiceError> {
    let tools = context.tool_servers.tools();
    let mut changed: Option<ToolSpec> = None;
    for call in calls {
        let is_approval =
            |decided: &&CallDecision| decided.tool_call_id == call.id && decided.decision == Decision::Approve;
        let Some(approved) = decisions.iter().find(is_approval) else { continue };
        let tool = tools.find_spec(&call.tool_name);
        if let Some(input) = &approved.input {
            tools.check(&call.tool_name, input.as_str()).map_err(|error| unusable_input(&error))?;
            if tool.is_some_and(|tool| redact_arguments(&tool.input_schema, input.as_str()).is_some()) {
                return Err(ServiceError::Invalid(SECRET_INPUT.to_owned()));
            }
        }
        // If the tool is missing at the moment, that is detected when the call runs.
        let Some(tool) = tool else { continue };
        let hash = tool.hash();
        if call.tool_hash.as_ref() != Some(&hash) && changed.as_ref().is_none_or(|other| other.name == tool.name) {
            with_retries(|| request_approval_again(context, call.id, &hash)).await?;
            changed = Some(tool.clone());
        }
    }
    match changed {
        Some(ToolSpec { name, description, .. }) => Err(ServiceError::ToolChanged { name, description }),
        None => Ok(()),
    }
}

fn unusable_input(error: &ToolError) -> ServiceError {
    let reason = &error.message;
    ServiceError::Invalid(format!(
        "The tool cannot be called with the edited input: {reason}. Correct it and decide again."
    ))
}

/// Requests approval of a waiting call again, for the current definition of its tool. Deletes the reviews, because they
/// were about the old definition.
async fn request_approval_again(context: &Context, id: ToolCallId, tool_hash: &str) -> sqlx::Result<()> {
    let mut tx = context.db.begin().await?;
    approvals::reset_pending_approval(&mut tx, id, tool_hash).await?;
    decisions::replace_reviews(&mut tx, id, &[], now()).await?;
    tx.commit().await
}

/// Waits until the current run of the turn has ended, because the turn resumes from the state that the run stores at
/// its end. Also returns after [`END_TIMEOUT`]. In that case `timeout` resumes the turn later.
async fn wait_for_end_of_run(context: &Context, row: &ConversationRow, message_id: MessageId) -> sqlx::Result<()> {
    let ended = async {
        loop {
            let state = messages::find_state(&context.db, row.id, message_id).await?;
            if !matches!(state, Some(StateRow { status: MessageStatus::Streaming, .. })) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(END_TIMEOUT, ended).await.unwrap_or(Ok(()))
}

/// Stores all decisions in one transaction. If a call no longer waits, or now waits for a decision on a newer
/// definition of its tool, stores nothing and returns that call.
async fn store(
    context: &Context,
    by: Decider<'_>,
    decisions: &[CallDecision],
    calls: &[DecidableRow],
) -> sqlx::Result<Option<ToolCallId>> {
    let decisions: HashMap<ToolCallId, &CallDecision> =
        decisions.iter().map(|decided| (decided.tool_call_id, decided)).collect();
    let mut tx = context.db.begin().await?;
    let decided_at = tx.now().await?;
    for call in calls {
        let Some(decided) = decisions.get(&call.id) else { continue };
        let reason = decided.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let error = refusal(reason);
        let verdict = match decided.decision {
            Decision::Deny => NewVerdict::Deny { error: &error },
            Decision::Approve => NewVerdict::Approve {
                tool_hash: call.tool_hash.as_deref().unwrap_or_default(),
                input: decided.input.as_ref().map(RawJson::as_str),
                scope: decided.remember,
            },
        };
        let new = NewApproval { tool_call_id: call.id, decider: by, decided_at, reason, verdict };
        if !approvals::create_approval(&mut tx, new).await? {
            return Ok(Some(call.id));
        }
    }
    tx.commit().await?;
    Ok(None)
}

/// Returns the error text of a refused call, for the model and the clients.
fn refusal(reason: Option<&str>) -> String {
    let refused = "A person refused this call, so it did not run";
    reason.map_or_else(|| format!("{refused}."), |reason| format!("{refused}: {reason}"))
}

/// Resumes a turn whose calls are all decided. Uses the answer's model. If that model no longer exists, uses the
/// conversation's model, and finally the user's default model. Returns `None` if the turn no longer waits for
/// approval, or if the run that requested approval has not ended.
pub(crate) async fn resume_decided(
    context: &Arc<Context>,
    permit: &StartPermit,
    user: UserId,
    uuid: Uuid,
    message_id: MessageId,
) -> Result<Option<TurnSubscription>, ServiceError> {
    let row = context.find_conversation(user, uuid).await?;
    let found = messages::find_message(&context.db, row.id, message_id).await?;
    let Some(message) = found.filter(|message| message.status == MessageStatus::AwaitingApproval) else {
        return Ok(None);
    };
    let Some(rows) = TurnRows::next_epoch(&message) else { return Ok(None) };
    let access = &context.access_of(user).await?;
    // A turn keeps its model, even if its user may no longer use it. Another model must be one that the user may use.
    let own = message.model.as_deref().and_then(|name| context.models.find(name));
    let model = &if let Some(own) = own {
        own
    } else {
        let models = &access.models;
        row.model.as_deref().and_then(|name| models.find(name)).map_or_else(|| models.default_model(), Ok)?
    };
    resume(
        context,
        permit,
        ResumeTurn { user, access, row: &row, message: &message, rows, model, after: ResumeReason::Approved },
    )
    .await
}
