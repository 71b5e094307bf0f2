//! Calls that wait for a decision, and the progress of running calls.

use serde_json::Number;
use tallybook_protocol::{
    ApprovalDecided, ApprovalRequested, ChatEvent, DeciderKind, Decision, MessageEnd, MessageStatus, RawJson, ToolCall,
    ToolCallId, ToolCallProgress, ToolCallReview, ToolCallStart, ToolCallStatus, Usage, Verdict,
};

use super::{
    super::{Call, Segment, Transcript, fold, lines},
    call_end, call_of, call_start, delta, folded, snapshot, start, stored_call,
};

const PROPOSED: &str = r#"{"a":1,"b":2}"#;
const EDITED: &str = r#"{"a":1,"b":3}"#;

fn asked(id: i64) -> ChatEvent {
    ChatEvent::ApprovalRequested(ApprovalRequested {
        tool_call_id: ToolCallId(id),
        tool_name: "add".to_owned(),
        input: RawJson::from_text(PROPOSED),
        input_bytes: None,
        truncated: false,
        offset: 0,
        risk: "high".to_owned(),
        reviews: Vec::new(),
    })
}

fn decided(id: i64, decision: Decision, input: Option<&str>) -> ChatEvent {
    ChatEvent::ApprovalDecided(ApprovalDecided {
        tool_call_id: ToolCallId(id),
        decision,
        decided_by: "Ada".to_owned(),
        decided_by_kind: DeciderKind::User,
        decided_by_user_id: Some(2),
        scope: None,
        decided_at: Some(chrono::DateTime::UNIX_EPOCH),
        reason: (decision == Decision::Deny).then(|| "Too much".to_owned()),
        input: input.map(RawJson::from_text),
    })
}

fn started_with(id: i64, input: &str) -> ChatEvent {
    let ChatEvent::ToolCallStart(start) = call_start(id, 0) else { unreachable!() };
    ChatEvent::ToolCallStart(ToolCallStart { input: RawJson::from_text(input), ..start })
}

fn review(model: &str, verdict: Verdict) -> ChatEvent {
    let (tool_call_id, reason) = (ToolCallId(100), "It is a sum.".to_owned());
    ChatEvent::ToolCallReview(ToolCallReview { tool_call_id, model: model.to_owned(), verdict, reason, duration_ms: 7 })
}

fn progress(done: u32) -> ChatEvent {
    ChatEvent::ToolCallProgress(ToolCallProgress {
        tool_call_id: ToolCallId(100),
        progress: Number::from(done),
        total: Some(Number::from(10)),
        message: None,
    })
}

fn paused(tool_calls: Vec<ToolCall>) -> ChatEvent {
    ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: tallybook_protocol::MessageId(11),
        content: "I would add.".to_owned(),
        tool_calls,
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::AwaitingApproval,
        error: None,
        error_code: None,
        stop_reason: None,
        usage: Usage::default(),
        provider: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        files: Vec::new(),
        conversation_deleted: false,
    })
}

fn waiting(id: i64) -> ToolCall {
    ToolCall { status: ToolCallStatus::AwaitingApproval, ..stored_call(id, 0, false) }
}

fn only_call(transcript: &Transcript) -> &Call {
    call_of(transcript.entries().last().unwrap())
}

/// Applies each event, and then all events so far again, which must change nothing.
fn heard_twice(events: &[ChatEvent]) -> Transcript {
    let mut transcript = Transcript::default();
    for (at, event) in events.iter().enumerate() {
        fold(&mut transcript, event.clone());
        let once = transcript.clone();
        for again in &events[..=at] {
            fold(&mut transcript, again.clone());
        }
        assert_eq!(transcript, once, "after {event:?}");
    }
    transcript
}

#[test]
fn a_call_waits_and_runs_with_the_input_that_was_approved() {
    let events =
        [start(1), asked(100), decided(100, Decision::Approve, Some(EDITED)), started_with(100, EDITED), call_end(100)];
    let waits = folded(events[..2].to_vec());
    assert!(only_call(&waits).awaits_decision() && !only_call(&waits).is_over());
    let runs = folded(events[..4].to_vec());
    assert_eq!(only_call(&runs).status, ToolCallStatus::Pending);
    let over = heard_twice(&events);
    let call = only_call(&over);
    assert_eq!((call.status, &*call.input.text), (ToolCallStatus::Success, EDITED));
    assert_eq!(call.proposed.as_ref().map(|proposed| &*proposed.text), Some(PROPOSED));
    assert_eq!(call.decided.as_ref().map(|decided| decided.by.as_str()), Some("Ada"));
}

#[test]
fn a_denial_has_a_reason_and_an_unchanged_approval_has_no_proposed_input() {
    let denied = heard_twice(&[start(1), asked(100), decided(100, Decision::Deny, None)]);
    let call = only_call(&denied);
    assert_eq!(call.status, ToolCallStatus::Denied);
    assert_eq!(call.decided.as_ref().and_then(|decided| decided.reason.as_deref()), Some("Too much"));
    let approved =
        heard_twice(&[start(1), asked(100), decided(100, Decision::Approve, None), started_with(100, PROPOSED)]);
    assert_eq!(only_call(&approved).proposed, None);
}

#[test]
fn a_stored_decision_is_known_and_its_event_adds_the_reason() {
    let event = decided(100, Decision::Deny, None);
    let ChatEvent::ApprovalDecided(decided_event) = &event else { unreachable!() };
    let decision = Some(decided_event.to_decision(chrono::DateTime::UNIX_EPOCH));
    let call = ToolCall { status: ToolCallStatus::Denied, decision, ..stored_call(100, 0, true) };
    let loaded = folded([start(1), snapshot(1, "", vec![call.clone()])]);
    let known = only_call(&loaded).decided.clone().unwrap();
    assert_eq!((known.by.as_str(), known.kind, known.reason), ("Ada", DeciderKind::User, None));
    let stored = || snapshot(1, "", vec![call.clone()]);
    for events in [vec![stored(), event.clone()], vec![asked(100), event, stored()]] {
        let reason = only_call(&folded([start(1)].into_iter().chain(events))).decided.clone().unwrap().reason;
        assert_eq!(reason.as_deref(), Some("Too much"));
    }
}

#[test]
fn an_answer_that_waits_for_approval_neither_runs_nor_is_complete() {
    let mut transcript = heard_twice(&[start(1), delta(0, "I would add."), asked(100), paused(vec![waiting(100)])]);
    assert!(!transcript.runs() && !transcript.is_answered());
    assert_eq!(transcript.awaiting().map(|entry| entry.id.0), Some(11));
    // The turn resumes under the next epoch.
    let ChatEvent::Snapshot(next) = snapshot(1, "I would add.", vec![stored_call(100, 0, false)]) else {
        unreachable!()
    };
    fold(&mut transcript, ChatEvent::Snapshot(tallybook_protocol::Snapshot { epoch: 2, ..next }));
    assert!(transcript.runs() && transcript.awaiting().is_none());
}

#[test]
fn a_snapshot_from_before_a_decision_does_not_revert_it() {
    let decision = decided(100, Decision::Approve, None);
    let transcript = folded([start(1), asked(100), decision, snapshot(1, "", vec![waiting(100)])]);
    assert_eq!(only_call(&transcript).status, ToolCallStatus::Pending);
}

#[test]
fn the_last_vote_of_each_reviewing_model_counts() {
    let votes = [review("Sonnet", Verdict::Approve), review("GPT", Verdict::Reject), review("GPT", Verdict::Abstain)];
    let transcript = folded([start(1), asked(100)].into_iter().chain(votes));
    let votes: Vec<_> = only_call(&transcript).reviews.iter().map(|vote| (vote.model.as_str(), vote.verdict)).collect();
    assert_eq!(votes, [("Sonnet", Verdict::Approve), ("GPT", Verdict::Abstain)]);
}

#[test]
fn a_call_that_waits_is_never_grouped() {
    let calls = [stored_call(99, 0, true), waiting(100), stored_call(101, 0, true)];
    let transcript = folded([start(1), paused(calls.to_vec())]);
    let entry = transcript.entries().last().unwrap();
    assert!(matches!(entry.segments()[..], [Segment::Items(_), Segment::Text(_)]), "{entry:?}");
    let run: Vec<_> = entry.items.iter().collect();
    assert_eq!(lines(&run).len(), 3, "nothing is grouped");
}

#[test]
fn a_call_has_progress_only_while_it_runs() {
    let mut transcript = folded([start(1), progress(1), call_start(100, 0), progress(3), progress(3)]);
    assert_eq!(only_call(&transcript).progress.as_ref().and_then(|progress| progress.percent), Some(30));
    // A snapshot in between keeps the progress.
    fold(&mut transcript, snapshot(1, "", vec![stored_call(100, 0, false)]));
    assert_eq!(only_call(&transcript).progress.as_ref().map(|progress| progress.done.as_str()), Some("3"));
    fold(&mut transcript, call_end(100));
    fold(&mut transcript, progress(4));
    assert_eq!(only_call(&transcript).progress, None);
}
