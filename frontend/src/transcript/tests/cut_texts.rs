//! Truncated texts of calls, and loading the full texts.

use proptest::prelude::*;
use tallybook_protocol::{
    CallsBudget, ChatEvent, Conversation, MessageId, RawJson, Snapshot, ToolCall, ToolCallEnd, ToolCallId,
    ToolCallStart, ToolCallStatus,
};

use super::{
    super::{Call, CallText, Extent, Transcript, fold},
    call_of, delta, end, finished_call, folded, part, snapshot, start, stored_call,
};

const CALL: ToolCallId = ToolCallId(100);

/// Returns a call with texts that are too long for events.
fn long_call() -> ToolCall {
    let input = RawJson::from_text(&format!(r#"{{"a":"{}"}}"#, "1".repeat(70_000)));
    ToolCall { input, output: Some("計".repeat(30_000)), ..stored_call(CALL.0, 8, true) }
}

/// Returns the same call while it runs.
fn running_call() -> ToolCall {
    ToolCall { status: ToolCallStatus::Pending, output: None, duration_ms: None, ..long_call() }
}

fn cut(mut call: ToolCall) -> ToolCall {
    CallsBudget::default().fit(&mut call);
    assert!(call.truncated);
    call
}

/// Returns a turn with this call, as the server sends it.
fn events() -> Vec<ChatEvent> {
    let ToolCall { tool_call_id, tool_name, input, input_bytes, truncated, offset, .. } = cut(running_call());
    let started = ToolCallStart { tool_call_id, tool_name, input, input_bytes, truncated, offset };
    let ToolCall {
        tool_call_id, output, output_bytes, truncated, error, error_type, status, duration_ms, files, ..
    } = cut(long_call());
    let duration_ms = duration_ms.unwrap();
    let ended =
        ToolCallEnd { tool_call_id, output, output_bytes, truncated, error, error_type, status, duration_ms, files };
    vec![
        start(1),
        delta(0, "Adding. "),
        ChatEvent::ToolCallStart(started),
        snapshot(1, "Adding. ", vec![cut(running_call())]),
        ChatEvent::ToolCallEnd(ended),
        snapshot(1, "Adding. ", vec![cut(long_call())]),
        delta(8, "Done."),
        end(1, "Adding. Done.", vec![cut(long_call())]),
    ]
}

/// Index of the event that ends the call.
const ENDED: usize = 4;

/// Returns the same turn as it is stored.
fn stored() -> Conversation {
    let mut stored = part(1..=1);
    stored.messages[1].content = "Adding. Done.".to_owned();
    stored.messages[1].tool_calls = vec![cut(long_call())];
    stored
}

fn whole(text: &str) -> CallText {
    CallText { text: text.into(), extent: Extent::Whole }
}

#[test]
fn a_truncated_text_has_the_length_of_the_full_text() {
    let from_events = folded(events());
    for transcript in [from_events, Transcript::from(stored())] {
        let call = call_of(&transcript.entries()[1]);
        assert_eq!(call.input.extent, Extent::Beginning(Some(70_008)));
        assert!(call.input.text.starts_with(r#""{\"a\":\"111"#), "as one JSON string");
        let output = call.output.as_ref().unwrap();
        assert_eq!((output.extent, output.text.len()), (Extent::Beginning(Some(90_000)), 65_535));
        assert!(!call.is_whole());
    }
}

#[test]
fn the_texts_of_a_truncated_call_are_distinguished() {
    let of = |change: fn(&mut ToolCall)| -> Call {
        let item = finished_call(1, |call| {
            change(call);
            *call = cut(call.clone());
        });
        Call::clone(item.as_call().unwrap())
    };
    let call = of(|call| call.output = Some("x".repeat(80_000)));
    assert_eq!((call.input, call.output.unwrap().extent), (whole(r#"{"a":1,"b":2}"#), Extent::Beginning(Some(80_000))));
    let call = of(|call| (call.output, call.error) = (None, Some("e".repeat(5000))));
    assert_eq!((call.input.is_whole(), call.error.unwrap().extent), (true, Extent::Beginning(None)));
    let call = of(|call| {
        call.input = RawJson::string(&"no JSON ".repeat(10_000));
        (call.output, call.error) = (None, Some("e".to_owned()));
    });
    assert_eq!((call.input.extent, call.error), (Extent::Beginning(Some(80_000)), Some(whole("e"))));
}

#[test]
fn a_call_that_is_loaded_while_it_runs_has_its_full_input() {
    // The response may arrive before the next event, or after it.
    for at in 3..=events().len() {
        let mut transcript = folded(events().drain(..at));
        transcript.put_call(running_call());
        events().drain(at..).for_each(|event| fold(&mut transcript, event));
        let call = transcript.find_call(CALL).unwrap();
        assert_eq!((call.status, &call.input), (ToolCallStatus::Success, &whole(long_call().input.as_str())));
        assert_eq!(call.output.as_ref().unwrap().extent, Extent::Beginning(Some(90_000)), "after {at} events");
    }
}

#[test]
fn a_shorter_beginning_changes_nothing() {
    let mut crowded = long_call();
    let mut budget = CallsBudget::default();
    (0..10).for_each(|_| budget.fit(&mut long_call()));
    budget.fit(&mut crowded);
    assert_eq!(crowded.output.as_deref(), Some(""));
    let before = folded(events());
    let mut after = before.clone();
    fold(&mut after, end(1, "Adding. Done.", vec![crowded]));
    assert_eq!(after, before);
}

#[test]
fn a_resumed_turn_keeps_loaded_texts() {
    let mut transcript = folded(events());
    transcript.put_call(long_call());
    let ChatEvent::Snapshot(kept) = snapshot(1, "Adding. ", vec![cut(long_call())]) else { unreachable!() };
    fold(&mut transcript, ChatEvent::Snapshot(Snapshot { epoch: 2, ..kept }));
    let entry = transcript.find(MessageId(11)).unwrap();
    assert_eq!((entry.text.as_str(), entry.is_streaming(), call_of(entry).is_whole()), ("Adding. ", true, true));
}

#[test]
fn a_call_that_is_no_longer_shown_is_ignored() {
    let before = folded([start(1)]);
    let mut after = before.clone();
    after.put_call(long_call());
    assert_eq!(after, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_text_that_was_loaded_in_full_stays_complete(
        loaded_after in ENDED + 1..=8,
        repeats in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        is_refreshed: bool,
    ) {
        let events = events();
        let mut transcript = folded(events[..loaded_after].iter().cloned());
        transcript.put_call(long_call());
        for event in repeats.iter().map(|at| at.get(&events)).chain(&events[loaded_after..]) {
            fold(&mut transcript, event.clone());
        }
        if is_refreshed {
            transcript.refresh(stored());
        }
        let call = transcript.find_call(CALL).unwrap();
        prop_assert_eq!(&call.input, &whole(long_call().input.as_str()));
        prop_assert_eq!(call.output.as_ref(), Some(&whole(&"計".repeat(30_000))));
        prop_assert!(call.is_whole());
    }
}
