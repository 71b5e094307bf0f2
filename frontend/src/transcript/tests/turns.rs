//! Complete turns, with events in any order and repeated.

use std::sync::Arc;

use proptest::prelude::*;
use tallybook_protocol::{
    ChatEvent, MessageEnd, MessageId, MessageStatus, Snapshot, ToolCallStatus, TurnError, Usage,
    sse::{Decoder, write_frame},
};

use super::{
    super::{Transcript, fold},
    Ending, any_turn, call_end, call_of, call_start, delta, failure, folded, snapshot, start, stored_call, turn,
};

#[test]
fn a_turn_has_a_question_and_an_answer_with_its_calls() {
    let transcript = folded(turn(1, &["Let me add. ".to_owned()], Ending::Completes));
    let [user, assistant] = transcript.entries() else { panic!("two messages") };
    assert_eq!((user.id, user.text.as_str()), (MessageId(10), "Question 1"));
    assert_eq!((assistant.id, assistant.text.as_str()), (MessageId(11), "Let me add. "));
    assert_eq!(assistant.status, MessageStatus::Complete);
    assert_eq!(call_of(assistant).output.as_ref().map(|output| &*output.text), Some("3"));
    assert_eq!(call_of(assistant).duration_ms, Some(4));
}

#[test]
fn outputs_are_not_copied_while_text_arrives() {
    let mut known = folded([start(1), call_start(100, 0), call_end(100)]);
    for frame in 0..3 {
        // The rendered transcript is held while the next words arrive.
        let drawn = known.clone();
        fold(&mut known, delta(frame * 5, "word "));
        let calls = |transcript: &Transcript| transcript.entries()[1].calls().map(Arc::as_ptr).collect::<Vec<_>>();
        assert_eq!(calls(&known), calls(&drawn));
        let texts = [&drawn, &known].map(|transcript: &Transcript| transcript.entries()[1].text.len());
        assert_eq!(texts, [frame * 5, frame * 5 + 5]);
    }
}

#[test]
fn a_gap_is_noticed_and_a_snapshot_closes_it() {
    let mut transcript = folded([start(1), delta(0, "One "), delta(8, "three")]);
    assert!(transcript.has_gap());
    assert_eq!(transcript.entries()[1].text, "One ");
    fold(&mut transcript, snapshot(1, "One two three", vec![]));
    assert!(!transcript.has_gap());
    assert_eq!(transcript.entries()[1].text, "One two three");
}

#[test]
fn overlapping_deltas_are_joined() {
    assert_eq!(folded([start(1), delta(0, "計算"), delta(3, "算し"), delta(1, "xx")]).entries()[1].text, "計算し");
}

#[test]
fn a_failed_turn_keeps_its_text_and_leaves_no_call_running() {
    let transcript = folded([start(1), delta(0, "Well"), call_start(100, 4), failure(1)]);
    let answer = &transcript.entries()[1];
    assert_eq!((answer.text.as_str(), answer.status), ("Well", MessageStatus::Failed));
    assert_eq!(answer.error.as_deref(), Some("The model refused the key."));
    assert_eq!(call_of(answer).status, ToolCallStatus::Interrupted);
}

#[test]
fn an_error_that_concerns_the_subscriber_does_not_change_the_turn() {
    let before = folded([start(1), delta(0, "Well")]);
    let error = TurnError {
        error: "The database is away.".to_owned(),
        code: "storage_unavailable".to_owned(),
        user_message_id: None,
        assistant_message_id: None,
    };
    let mut after = before.clone();
    fold(&mut after, ChatEvent::Error(error));
    fold(&mut after, ChatEvent::Unknown);
    assert_eq!(after, before);
}

/// Reads the start of a turn and then `error`, as a browser reads them from the bytes of one connection. Also returns
/// the number of terminal events.
fn read_until_error(error: &ChatEvent, id: Option<&str>) -> (Transcript, usize) {
    let mut bytes = String::new();
    for (id, event) in ["11.1.1", "11.1.2", "11.1.3"].into_iter().zip([start(1), delta(0, "Well"), call_start(100, 4)])
    {
        bytes.push_str(&write_frame(Some(id), event.name(), &event.data().unwrap()));
    }
    bytes.push_str(&write_frame(id, error.name(), &error.data().unwrap()));
    let frames = Decoder::new().push(bytes.as_bytes()).unwrap();
    assert!(frames.last().unwrap().id.is_some(), "an ID stays in force, so it says nothing about the error");
    let events: Vec<_> = frames.iter().map(|frame| ChatEvent::parse(&frame.event, &frame.data).unwrap()).collect();
    let ends = events.iter().filter(|event| event.is_terminal()).count();
    (folded(events), ends)
}

#[test]
fn a_turn_continues_after_an_error_frame_without_id() {
    let error = TurnError {
        error: "The database is away.".to_owned(),
        code: "storage_unavailable".to_owned(),
        user_message_id: None,
        assistant_message_id: None,
    };
    let (transcript, ends) = read_until_error(&ChatEvent::Error(error), None);
    let answer = &transcript.entries()[1];
    assert_eq!((answer.status, answer.error.as_deref()), (MessageStatus::Streaming, None));
    assert_eq!(call_of(answer).status, ToolCallStatus::Pending);
    assert_eq!(ends, 0);
}

#[test]
fn a_turn_is_over_after_an_error_frame_that_names_its_message() {
    let (transcript, ends) = read_until_error(&failure(1), Some("11.1.4"));
    let answer = &transcript.entries()[1];
    assert_eq!((answer.status, answer.error.as_deref()), (MessageStatus::Failed, Some("The model refused the key.")));
    assert_eq!(ends, 1);
}

#[test]
fn repeated_text_of_an_old_turn_is_not_added_to_the_new_one() {
    let first = turn(1, &["One ".to_owned()], Ending::Completes);
    let mut transcript = folded(first.iter().cloned().chain([start(2), delta(0, "Two")]));
    for event in first {
        fold(&mut transcript, event);
    }
    assert_eq!(transcript.entries()[3].text, "Two");
}

proptest! {
    #[test]
    fn repeated_events_change_nothing(
        events in any_turn(1),
        repeats in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
    ) {
        let expected = folded(events.iter().cloned());
        // Any event may be repeated later, and any beginning of the stream may be replayed.
        let mut heard: Vec<ChatEvent> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            heard.push(event.clone());
            for (when, which) in &repeats {
                if when.index(events.len()) == at {
                    heard.push(events[which.index(at + 1)].clone());
                    heard.extend_from_slice(&events[..which.index(at + 1)]);
                }
            }
        }
        prop_assert_eq!(folded(heard), expected);
    }

    #[test]
    fn two_turns_do_not_mix(first in any_turn(1), second in any_turn(2)) {
        let both = folded(first.iter().chain(&second).cloned());
        let apart: Vec<_> = [folded(first), folded(second)].iter().flat_map(|t| t.entries().to_vec()).collect();
        prop_assert_eq!(both.entries(), apart);
    }

    #[test]
    fn deltas_in_any_order_never_panic(deltas in proptest::collection::vec((0usize..30, "[a計🙂]{0,5}"), 0..12)) {
        let events = deltas.iter().map(|(offset, text)| delta(*offset, text));
        let transcript = folded(std::iter::once(start(1)).chain(events));
        prop_assert_eq!(transcript.entries().len(), 2);
    }
}

#[test]
fn a_resumed_turn_discards_what_followed_its_last_complete_step() {
    let interrupted = ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: MessageId(11),
        content: "Adding. It is".to_owned(),
        tool_calls: vec![stored_call(100, 8, true)],
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::Interrupted,
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
    });
    let old = snapshot(1, "Adding. It", vec![stored_call(100, 8, true)]);
    let ChatEvent::Snapshot(kept) = snapshot(1, "Adding. ", vec![stored_call(100, 8, true)]) else { unreachable!() };
    let resumed = ChatEvent::Snapshot(Snapshot { epoch: 2, ..kept });
    let mut transcript = folded([start(1), delta(0, "Adding. "), interrupted, old.clone()]);
    assert_eq!(transcript.find(MessageId(11)).unwrap().status, MessageStatus::Interrupted);
    fold(&mut transcript, resumed);
    for event in [old, delta(8, "Three.")] {
        fold(&mut transcript, event);
    }
    let entry = transcript.find(MessageId(11)).unwrap();
    assert_eq!((entry.text.as_str(), entry.items.len(), entry.is_streaming()), ("Adding. Three.", 1, true));
    assert!(!transcript.has_gap());
}
