//! Tests of the transcript with complete sequences of events, and the helpers that create them.

mod activity;
mod approval;
mod branches;
mod cut_texts;
mod earlier;
mod planned;
mod turns;

use std::sync::Arc;

use proptest::prelude::*;
use tallybook_protocol::{
    ChatEvent, ContentDelta, Conversation, ConversationSummary, Earlier, Message, MessageEnd, MessageId, MessageStart,
    MessageStatus, RawJson, Reasoning, Role, Snapshot, ToolCall, ToolCallEnd, ToolCallId, ToolCallStart,
    ToolCallStatus, TurnError, Usage,
};

use super::{Call, Entry, Item, Transcript, fold};

fn start(turn: i64) -> ChatEvent {
    ChatEvent::MessageStart(MessageStart {
        user_message_id: MessageId(turn * 10),
        assistant_message_id: MessageId(turn * 10 + 1),
        conversation_id: uuid::Uuid::nil(),
        content: format!("Question {turn}"),
        parent_id: (turn > 1).then(|| MessageId((turn - 1) * 10 + 1)),
        files: Vec::new(),
        user_siblings: Vec::new(),
        assistant_siblings: Vec::new(),
        provider: None,
        model: None,
    })
}

fn delta(offset: usize, text: &str) -> ChatEvent {
    ChatEvent::ContentDelta(ContentDelta { offset: i64::try_from(offset).unwrap(), delta: text.to_owned() })
}

fn call_start(id: i64, offset: usize) -> ChatEvent {
    ChatEvent::ToolCallStart(ToolCallStart {
        tool_call_id: ToolCallId(id),
        tool_name: "add".to_owned(),
        input: RawJson::from_text(r#"{"a":1,"b":2}"#),
        input_bytes: None,
        truncated: false,
        offset: i64::try_from(offset).unwrap(),
    })
}

fn call_end(id: i64) -> ChatEvent {
    ChatEvent::ToolCallEnd(ToolCallEnd {
        tool_call_id: ToolCallId(id),
        output: Some("3".to_owned()),
        output_bytes: None,
        truncated: false,
        error: None,
        error_type: None,
        status: ToolCallStatus::Success,
        duration_ms: 4,
        files: Vec::new(),
    })
}

/// Returns a successful call after `change`.
pub(super) fn finished_call(id: i64, change: impl FnOnce(&mut ToolCall)) -> Item {
    let mut call = stored_call(id, 0, true);
    change(&mut call);
    Item::Call(Arc::new(call.into()))
}

fn stored_call(id: i64, offset: usize, over: bool) -> ToolCall {
    ToolCall {
        tool_call_id: ToolCallId(id),
        tool_name: "add".to_owned(),
        input: RawJson::from_text(r#"{"a":1,"b":2}"#),
        input_bytes: None,
        offset: i64::try_from(offset).unwrap(),
        status: if over { ToolCallStatus::Success } else { ToolCallStatus::Pending },
        output: over.then(|| "3".to_owned()),
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms: over.then_some(4),
        started_at: chrono::DateTime::UNIX_EPOCH,
        proposed_input: None,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    }
}

#[test]
fn text_that_turns_into_reasoning_is_removed_once() {
    let taken_back = |reasoning_id: i64, content: &str| {
        let reasoning = |reasoning_id| Reasoning { reasoning_id, text: "Hm, hm".to_owned(), ..Reasoning::default() };
        let ChatEvent::Snapshot(snapshot) = snapshot(1, content, vec![]) else { unreachable!() };
        ChatEvent::Snapshot(Snapshot { reasoning: (0..=reasoning_id).map(reasoning).collect(), ..snapshot })
    };
    let mut transcript = Transcript::default();
    let mut hear = |event: ChatEvent| {
        fold(&mut transcript, event);
        (transcript.entries().last().unwrap().text.clone(), transcript.has_gap())
    };
    let shown = |text: &str| (text.to_owned(), false);
    hear(start(1));
    hear(delta(0, "Hm, hm"));
    assert_eq!(hear(taken_back(0, "")), shown(""));
    assert_eq!(hear(delta(0, "Adding. ")), shown("Adding. "));
    // The next step of the same run.
    hear(delta(8, "\n\nHm, hm"));
    assert_eq!(hear(taken_back(1, "Adding. ")), shown("Adding. "));
    assert_eq!(hear(delta(8, "\n\nThree.")), shown("Adding. \n\nThree."));
    for again in [taken_back(0, ""), taken_back(1, "Adding. ")] {
        assert_eq!(hear(again), shown("Adding. \n\nThree."));
    }
}

fn snapshot(turn: i64, content: &str, tool_calls: Vec<ToolCall>) -> ChatEvent {
    ChatEvent::Snapshot(Snapshot {
        assistant_message_id: MessageId(turn * 10 + 1),
        epoch: 1,
        content: content.to_owned(),
        tool_calls,
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::Streaming,
        provider: None,
        model: None,
    })
}

fn end(turn: i64, content: &str, tool_calls: Vec<ToolCall>) -> ChatEvent {
    ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: MessageId(turn * 10 + 1),
        content: content.to_owned(),
        tool_calls,
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: Some("end_turn".to_owned()),
        usage: Usage::default(),
        provider: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        files: Vec::new(),
        conversation_deleted: false,
    })
}

fn failure(turn: i64) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: "The model refused the key.".to_owned(),
        code: "model_auth".to_owned(),
        user_message_id: Some(MessageId(turn * 10)),
        assistant_message_id: Some(MessageId(turn * 10 + 1)),
    })
}

/// Returns the only call of an answer.
fn call_of(entry: &Entry) -> &Call {
    let mut calls = entry.calls();
    let call = calls.next().unwrap();
    assert!(calls.next().is_none());
    call
}

fn folded(events: impl IntoIterator<Item = ChatEvent>) -> Transcript {
    let mut transcript = Transcript::default();
    for event in events {
        fold(&mut transcript, event);
    }
    transcript
}

/// Returns a turn as the server sends it: pieces of text, each followed by a call.
fn turn(turn: i64, pieces: &[String], ending: Ending) -> Vec<ChatEvent> {
    let mut events = vec![start(turn)];
    let mut text = String::new();
    let mut calls = Vec::new();
    for (id, piece) in (turn * 100..).zip(pieces) {
        events.push(delta(text.len(), piece));
        text.push_str(piece);
        events.push(call_start(id, text.len()));
        if ending == Ending::JoinedLate {
            let mut so_far = calls.clone();
            so_far.push(stored_call(id, text.len(), false));
            events.push(snapshot(turn, &text, so_far));
        }
        events.push(call_end(id));
        calls.push(stored_call(id, text.len(), true));
    }
    match ending {
        Ending::Fails => events.push(failure(turn)),
        Ending::Runs => {}
        Ending::Completes | Ending::JoinedLate => events.push(end(turn, &text, calls)),
    }
    events
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Completes,
    JoinedLate,
    Fails,
    Runs,
}

fn any_turn(number: i64) -> impl Strategy<Value = Vec<ChatEvent>> {
    let ending =
        prop_oneof![Just(Ending::Completes), Just(Ending::JoinedLate), Just(Ending::Fails), Just(Ending::Runs)];
    (proptest::collection::vec("[a計🙂 ]{1,6}", 0..5), ending)
        .prop_map(move |(pieces, ending)| turn(number, &pieces, ending))
}

/// Returns the start of a turn on another branch.
fn version(parent_id: Option<i64>, user: i64, assistant: i64, user_siblings: &[i64], siblings: &[i64]) -> ChatEvent {
    ChatEvent::MessageStart(MessageStart {
        user_message_id: MessageId(user),
        assistant_message_id: MessageId(assistant),
        conversation_id: uuid::Uuid::nil(),
        content: format!("Question {user}"),
        parent_id: parent_id.map(MessageId),
        files: Vec::new(),
        user_siblings: message_ids(user_siblings),
        assistant_siblings: message_ids(siblings),
        provider: None,
        model: None,
    })
}

fn message_ids(ids: &[i64]) -> Vec<MessageId> {
    ids.iter().copied().map(MessageId).collect()
}

fn ids(transcript: &Transcript) -> Vec<i64> {
    transcript.entries().iter().map(|entry| entry.id.0).collect()
}

const PER_ANSWER: Usage = Usage { input_tokens: 5, output_tokens: 1, cached_tokens: 0, cost_nanos: None };

/// Returns these turns of a conversation, as the server sends a part of it.
fn part(turns: std::ops::RangeInclusive<i64>) -> Conversation {
    let at = chrono::DateTime::UNIX_EPOCH;
    let message = |id, role, usage| Message {
        id: MessageId(id),
        role,
        epoch: 1,
        content: format!("Text {id}"),
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: None,
        tool_calls: if role == Role::Assistant { vec![stored_call(id, 0, true)] } else { vec![] },
        reasoning: Vec::new(),
        plan: None,
        files: Vec::new(),
        siblings: vec![],
        usage,
        provider: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        feedback: None,
        created_at: at,
        completed_at: None,
    };
    let before = turns.start() - 1;
    Conversation {
        summary: ConversationSummary {
            uuid: uuid::Uuid::nil(),
            title: "Long".to_owned(),
            running: false,
            awaiting_approval: false,
            pinned: false,
            archived: false,
            model: None,
            created_at: at,
            updated_at: at,
        },
        messages: turns
            .flat_map(|turn| {
                [message(turn * 10, Role::User, None), message(turn * 10 + 1, Role::Assistant, Some(PER_ANSWER))]
            })
            .collect(),
        earlier: (before > 0).then(|| Earlier { count: before * 2, usage: (0..before).map(|_| PER_ANSWER).sum() }),
        active_message_id: None,
    }
}
