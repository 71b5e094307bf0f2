//! Tests that clients accept the largest events of a turn that the limits allow.

use std::sync::Arc;

use chrono::DateTime;
use tallybook_agent::{
    EndedToolCall, Limits, MAX_REASON_CHARS, MAX_REVIEWED_CALLS, MAX_REVIEWERS, Review, StartedToolCall, Vote,
};
use tallybook_llm::{MAX_BLOCKS, ToolCallRequest};
use tallybook_protocol::{
    AnswerMode, ChatEvent, ContentDelta, ContextTruncation, FileKind, MAX_CALL_TEXT_BYTES, MAX_STEP_REASONING_BYTES,
    MessageEnd, MessageFile, MessageId, MessageStatus, Plan, PlanStep, ReasoningDelta, ToolCallId, ToolCallStatus,
    Usage, Verdict,
    sse::{Decoder, write_frame},
};
use tallybook_tools::{Risk, ToolSpec};
use uuid::Uuid;

use crate::journal::{LogEntry, PartialAnswer, TurnLog};
use crate::{
    limits::{MAX_ANSWER_JSON_BYTES, MAX_DELTA_BYTES},
    turn::recorder::writer::{asked_events, end_event, start_event},
};

/// A control character. It takes six bytes in JSON for its one byte; no character has a higher ratio.
const WORST: char = '\u{1}';

/// The largest character in texts from which control characters are removed: four bytes.
const WIDE: char = '🙂';

fn text(character: char, count: usize) -> String {
    character.to_string().repeat(count)
}

fn offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap()
}

/// Creates a log that contains all kinds of events at their maximum size.
fn full_log() -> TurnLog {
    let log = TurnLog::copy(MessageId(i64::MAX), i32::MAX);
    for begin in (0..MAX_ANSWER_JSON_BYTES / 6).step_by(MAX_DELTA_BYTES) {
        let delta = text(WORST, MAX_DELTA_BYTES.min(MAX_ANSWER_JSON_BYTES / 6 - begin));
        log.append(ChatEvent::ContentDelta(ContentDelta { offset: offset(begin), delta }));
    }
    for reasoning_id in 0..2 {
        let delta = text(WORST, MAX_STEP_REASONING_BYTES / 6);
        log.append(ChatEvent::ReasoningDelta(ReasoningDelta { reasoning_id, delta, ..ReasoningDelta::default() }));
    }
    log.append(ChatEvent::Plan(full_plan()));
    let limits = Limits::default();
    let reviewed = MAX_REVIEWED_CALLS * (usize::try_from(limits.steps).unwrap() + 1);
    for call in 0..limits.calls - 1 + MAX_BLOCKS {
        tell_call(&log, call, call < reviewed);
    }
    log
}

/// Returns a plan with as many steps as possible: five, and one for each of the 50 attempts that all steps together may
/// have.
fn full_plan() -> Plan {
    let step = PlanStep {
        instruction: text(WIDE, 500),
        expected: text(WIDE, 300),
        reason: Some(text(WIDE, MAX_REASON_CHARS)),
        ..PlanStep::default()
    };
    Plan { success_criteria: text(WIDE, 500), steps: vec![step; 55], ..Plan::default() }
}

/// Appends the events of a call at their maximum size. The first calls use up the space for the texts of calls.
fn tell_call(log: &TurnLog, number: usize, is_reviewed: bool) {
    let id = ToolCallId(i64::MAX - offset(number));
    let bytes = if number < 20 { MAX_CALL_TEXT_BYTES + 1 } else { 20 };
    let (name, input_text) = (text(WORST, 100), text(WORST, bytes));
    let request = ToolCallRequest { id: String::new(), name, input_text, written_by: None };
    let call = StartedToolCall { step: 0, position: 0, request: &request, waited: None };
    let at = DateTime::from_timestamp_micros(1_800_000_000_123_456).unwrap();
    if is_reviewed {
        let vote = |model: usize| Vote {
            model: format!("{model}{}", text(WIDE, 99)),
            verdict: Verdict::Approve,
            reason: text(WIDE, MAX_REASON_CHARS + 1),
            usage: Usage::default(),
            duration_ms: i64::MAX,
        };
        let review = Review { votes: (0..MAX_REVIEWERS).map(vote).collect(), outcome: None };
        for event in asked_events(id, &call, &spec(), (offset(MAX_ANSWER_JSON_BYTES), at), &review) {
            log.append_at(event, at);
        }
    }
    log.append_at(start_event(id, &call, offset(MAX_ANSWER_JSON_BYTES), at), at);
    let end = EndedToolCall {
        status: ToolCallStatus::Interrupted,
        output: Some(text(WORST, bytes)),
        error: Some(text(WORST, bytes)),
        error_type: None,
        duration_ms: i64::MAX,
        files: Vec::new(),
    };
    log.append(end_event(id, &end));
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "echo".to_owned(),
        description: String::new(),
        aliases: Vec::new(),
        input_schema: serde_json::Value::Null,
        server: None,
        risk: Risk::High,
        idempotent: false,
        definition_hash: None,
    }
}

fn assert_readers_take(event: &ChatEvent) {
    let frame =
        write_frame(Some("9223372036854775807.2147483647.9223372036854775807"), event.name(), &event.data().unwrap());
    let frames = Decoder::new().push(frame.as_bytes());
    assert!(frames.is_ok_and(|frames| frames.len() == 1), "{} has {} bytes", event.name(), frame.len());
    // Leaves space for fields that are added later.
    assert!(frame.len() < 15 * 1024 * 1024, "{} has {} bytes", event.name(), frame.len());
}

#[tokio::test]
async fn clients_accept_the_largest_snapshot_and_the_largest_end() {
    let log = Arc::new(full_log());
    let entries = log.subscribe_after(None).next().await.unwrap();
    let snapshot = entries.iter().map(LogEntry::event).find(|event| matches!(event, ChatEvent::Snapshot(_)));
    assert_readers_take(snapshot.unwrap());

    let (PartialAnswer { content, reasoning, plan }, tool_calls) = log.partial_and_calls();
    let file = MessageFile {
        id: Uuid::nil(),
        name: text(WIDE, 200),
        kind: FileKind::Document,
        media_type: text(WIDE, 100),
        bytes: i64::MAX,
        width: Some(i32::MAX),
        height: Some(i32::MAX),
        pages: Some(i32::MAX),
        truncated: true,
        context: Some(text(WIDE, 100)),
    };
    let end = MessageEnd {
        assistant_message_id: log.message_id(),
        content,
        tool_calls,
        reasoning,
        plan,
        mode: AnswerMode::Plan,
        status: MessageStatus::AwaitingApproval,
        error: Some(text(WIDE, 1000)),
        error_code: Some("storage_unavailable".to_owned()),
        stop_reason: Some(text(WORST, 64)),
        usage: Usage {
            input_tokens: i64::MAX,
            output_tokens: i64::MAX,
            cached_tokens: i64::MAX,
            cost_nanos: Some(i64::MAX),
        },
        provider: Some(text(WIDE, 100)),
        model: Some(text(WIDE, 100)),
        context: Some(ContextTruncation { from: MessageId(i64::MAX), summary: Some(text(WIDE, 16 * 1024 / 4)) }),
        files: vec![file; 10],
        conversation_deleted: true,
    };
    assert_readers_take(&ChatEvent::MessageEnd(end));
}
