//! What readers of a turn are told of its calls: that one is asked for, begins and ends, with as much of its texts as an event
//! carries.

use tallybook_agent::{EndedToolCall, Review, Ruling, StartedToolCall, Vote};
use tallybook_protocol::{
    ApprovalDecided, ApprovalRequested, CallsBudget, ChatEvent, Decision, RawJson, ToolCall, ToolCallEnd, ToolCallId,
    ToolCallReview, ToolCallStart, ToolCallStatus,
};
use tallybook_tools::ToolSpec;

use crate::db::now;

/// Who decided where reviewers did.
pub(super) const REVIEW: &str = "review";

/// A call is stored and about to run.
pub(super) fn start_event(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    offset: i64,
    started_at: chrono::DateTime<chrono::Utc>,
) -> ChatEvent {
    let told = told_call(id, call, offset, started_at);
    ChatEvent::ToolCallStart(ToolCallStart {
        tool_call_id: id,
        tool_name: told.tool_name,
        input: told.input,
        input_bytes: told.input_bytes,
        truncated: told.truncated,
        offset,
    })
}

/// What is told of a call that is stored as one that wants to run: that it is asked for, what reviewers said of it, and what
/// they decided. One that they refused has ended with that.
pub(super) fn asked_events(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    tool: &ToolSpec,
    offset: i64,
    review: &Review,
) -> Vec<ChatEvent> {
    let told = told_call(id, call, offset, now());
    let reviews: Vec<ToolCallReview> = review.votes.iter().map(|vote| told_vote(id, vote)).collect();
    let mut events = vec![ChatEvent::ApprovalRequested(ApprovalRequested {
        tool_call_id: id,
        tool_name: told.tool_name,
        input: told.input,
        input_bytes: told.input_bytes,
        truncated: told.truncated,
        offset,
        risk: tool.risk.as_str().to_owned(),
        reviews: reviews.clone(),
    })];
    events.extend(reviews.into_iter().map(ChatEvent::ToolCallReview));
    let Some(ruling) = &review.ruling else { return events };
    events.push(ChatEvent::ApprovalDecided(ApprovalDecided {
        tool_call_id: id,
        decision: ruling.decision,
        decided_by: REVIEW.to_owned(),
        reason: Some(ruling.reason.clone()),
        input: None,
    }));
    if ruling.decision == Decision::Deny {
        events.push(end_event(id, &refused(ruling)));
    }
    events
}

fn told_vote(tool_call_id: ToolCallId, vote: &Vote) -> ToolCallReview {
    let Vote { model, verdict, reason, duration_ms, .. } = vote.clone();
    ToolCallReview { tool_call_id, model, verdict, reason, duration_ms }
}

/// The end of a call that reviewers refused.
fn refused(ruling: &Ruling) -> EndedToolCall {
    EndedToolCall {
        status: ToolCallStatus::Denied,
        output: None,
        error: Some(ruling.refusal()),
        error_type: None,
        duration_ms: 0,
    }
}

/// A call as an event tells of it.
fn told_call(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    offset: i64,
    started_at: chrono::DateTime<chrono::Utc>,
) -> ToolCall {
    let mut told = ToolCall {
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
        truncated: false,
        duration_ms: None,
        started_at,
        reviews: Vec::new(),
    };
    CallsBudget::default().fit(&mut told);
    told
}

/// A call's result is stored.
pub(super) fn end_event(id: ToolCallId, end: &EndedToolCall) -> ChatEvent {
    let mut event = ToolCallEnd {
        tool_call_id: id,
        output: end.output.clone(),
        output_bytes: None,
        error: end.error.clone(),
        truncated: false,
        status: end.status,
        duration_ms: end.duration_ms,
    };
    CallsBudget::default().fit_end(&mut event);
    ChatEvent::ToolCallEnd(event)
}
