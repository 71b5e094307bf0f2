//! Builds the events of a turn's tool calls: an approval is requested, a call starts, a call ends. Texts are truncated
//! to what one event may carry.

use chrono::{DateTime, Utc};
use tallybook_agent::{EndedToolCall, Review, ReviewDecision, StartedToolCall, Vote};
use tallybook_protocol::{
    ApprovalRequested, CallsBudget, ChatEvent, Decision, RawJson, ToolCall, ToolCallEnd, ToolCallId, ToolCallReview,
    ToolCallStart, ToolCallStatus,
};
use tallybook_tools::ToolSpec;

use crate::store::{
    decisions::{Decider, decided_event},
    rows::DENIED_TYPE,
    stored_error_type,
};

/// Returns the event for a call that is stored and about to run.
pub(crate) fn start_event(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    offset: i64,
    started_at: DateTime<Utc>,
) -> ChatEvent {
    let payload = tool_call_payload(id, call, offset, started_at);
    ChatEvent::ToolCallStart(ToolCallStart {
        tool_call_id: id,
        tool_name: payload.tool_name,
        input: payload.input,
        input_bytes: payload.input_bytes,
        truncated: payload.truncated,
        offset,
    })
}

/// Returns the events for a call that is stored as waiting for approval: the request, the reviewers' votes, and their
/// decision if they made one. If the reviewers refused the call, the last event is the call's end.
pub(crate) fn asked_events(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    tool: &ToolSpec,
    (offset, at): (i64, DateTime<Utc>),
    review: &Review,
) -> Vec<ChatEvent> {
    let payload = tool_call_payload(id, call, offset, at);
    let reviews: Vec<ToolCallReview> = review.votes.iter().map(|vote| review_payload(id, vote)).collect();
    let mut events = vec![ChatEvent::ApprovalRequested(ApprovalRequested {
        tool_call_id: id,
        tool_name: payload.tool_name,
        input: payload.input,
        input_bytes: payload.input_bytes,
        truncated: payload.truncated,
        offset,
        risk: tool.risk.as_str().to_owned(),
        reviews: reviews.clone(),
    })];
    events.extend(reviews.into_iter().map(ChatEvent::ToolCallReview));
    let Some(ruling) = &review.ruling else { return events };
    let decision = Decider::Review.decides(ruling.decision, at);
    events.push(ChatEvent::ApprovalDecided(decided_event(id, decision, Some(ruling.reason.clone()), None)));
    if ruling.decision == Decision::Deny {
        events.push(end_event(id, &refused(ruling)));
    }
    events
}

fn review_payload(tool_call_id: ToolCallId, vote: &Vote) -> ToolCallReview {
    let Vote { model, verdict, reason, duration_ms, .. } = vote.clone();
    ToolCallReview { tool_call_id, model, verdict, reason, duration_ms }
}

/// Returns the end of a call that the reviewers refused.
fn refused(ruling: &ReviewDecision) -> EndedToolCall {
    EndedToolCall {
        status: ToolCallStatus::Denied,
        output: None,
        error: Some(ruling.refusal()),
        error_type: Some(DENIED_TYPE.to_owned()),
        duration_ms: 0,
        files: Vec::new(),
    }
}

/// Returns a call in the form that events carry, with truncated arguments.
fn tool_call_payload(id: ToolCallId, call: &StartedToolCall<'_>, offset: i64, started_at: DateTime<Utc>) -> ToolCall {
    let mut payload = ToolCall {
        tool_call_id: id,
        tool_name: call.request.name.clone(),
        input: RawJson::from_text(&call.request.input_text),
        input_bytes: None,
        proposed_input: None,
        offset,
        status: ToolCallStatus::Pending,
        output: None,
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms: None,
        started_at,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    };
    CallsBudget::default().fit(&mut payload);
    payload
}

/// Returns the event for the end of a call.
pub(crate) fn end_event(id: ToolCallId, end: &EndedToolCall) -> ChatEvent {
    let mut event = ToolCallEnd {
        tool_call_id: id,
        output: end.output.clone(),
        output_bytes: None,
        error: end.error.clone(),
        error_type: end.error_type.as_deref().map(|word| stored_error_type(word).to_owned()),
        truncated: false,
        status: end.status,
        duration_ms: end.duration_ms,
        files: end.files.iter().map(|file| file.file.clone()).collect(),
    };
    CallsBudget::default().fit_end(&mut event);
    ChatEvent::ToolCallEnd(event)
}
