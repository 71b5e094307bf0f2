//! What `fold` promises, shown on whole sequences of events.

use proptest::prelude::*;
use tallybook_protocol::{
    ChatEvent, ContentDelta, Conversation, ConversationSummary, Earlier, Message, MessageEnd, MessageStart,
    MessageStatus, RawJson, Role, Snapshot, ToolCall, ToolCallEnd, ToolCallStart, ToolCallStatus, TurnError, Usage,
    sse::{Decoder, write_frame},
};

use super::{Transcript, fold};

fn start(turn: i64) -> ChatEvent {
    ChatEvent::MessageStart(MessageStart {
        user_message_id: turn * 10,
        assistant_message_id: turn * 10 + 1,
        conversation_id: uuid::Uuid::nil(),
        content: format!("Question {turn}"),
        parent_id: (turn > 1).then(|| (turn - 1) * 10 + 1),
        user_siblings: Vec::new(),
        assistant_siblings: Vec::new(),
    })
}

fn delta(offset: usize, text: &str) -> ChatEvent {
    ChatEvent::ContentDelta(ContentDelta { offset: i64::try_from(offset).unwrap(), delta: text.to_owned() })
}

fn call_start(id: i64, offset: usize) -> ChatEvent {
    ChatEvent::ToolCallStart(ToolCallStart {
        tool_call_id: id,
        tool_name: "add".to_owned(),
        input: RawJson::from_text(r#"{"a":1,"b":2}"#),
        offset: i64::try_from(offset).unwrap(),
    })
}

fn call_end(id: i64) -> ChatEvent {
    ChatEvent::ToolCallEnd(ToolCallEnd {
        tool_call_id: id,
        output: Some("3".to_owned()),
        error: None,
        status: ToolCallStatus::Success,
        duration_ms: 4,
    })
}

fn stored_call(id: i64, offset: usize, over: bool) -> ToolCall {
    ToolCall {
        tool_call_id: id,
        tool_name: "add".to_owned(),
        input: RawJson::from_text(r#"{"a":1,"b":2}"#),
        offset: i64::try_from(offset).unwrap(),
        status: if over { ToolCallStatus::Success } else { ToolCallStatus::Pending },
        output: over.then(|| "3".to_owned()),
        error: None,
        duration_ms: over.then_some(4),
        started_at: chrono::DateTime::UNIX_EPOCH,
    }
}

fn snapshot(turn: i64, content: &str, tool_calls: Vec<ToolCall>) -> ChatEvent {
    ChatEvent::Snapshot(Snapshot {
        assistant_message_id: turn * 10 + 1,
        epoch: 1,
        content: content.to_owned(),
        tool_calls,
        status: MessageStatus::Streaming,
    })
}

fn end(turn: i64, content: &str, tool_calls: Vec<ToolCall>) -> ChatEvent {
    ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: turn * 10 + 1,
        content: content.to_owned(),
        tool_calls,
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: Some("end_turn".to_owned()),
        usage: Usage::default(),
    })
}

fn failure(turn: i64) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: "The model refused the key.".to_owned(),
        code: "model_auth".to_owned(),
        user_message_id: Some(turn * 10),
        assistant_message_id: Some(turn * 10 + 1),
    })
}

#[test]
fn a_turn_that_goes_on_takes_back_what_came_after_its_last_whole_step() {
    let interrupted = ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: 11,
        content: "Adding. It is".to_owned(),
        tool_calls: vec![stored_call(100, 8, true)],
        status: MessageStatus::Interrupted,
        error: None,
        error_code: None,
        stop_reason: None,
        usage: Usage::default(),
    });
    let old = snapshot(1, "Adding. It", vec![stored_call(100, 8, true)]);
    let ChatEvent::Snapshot(kept) = snapshot(1, "Adding. ", vec![stored_call(100, 8, true)]) else { unreachable!() };
    let resumed = ChatEvent::Snapshot(Snapshot { epoch: 2, ..kept });
    let mut transcript = folded([start(1), delta(0, "Adding. "), interrupted, old.clone()]);
    assert_eq!(transcript.find(11).unwrap().status, MessageStatus::Interrupted);
    fold(&mut transcript, resumed);
    for event in [old, delta(8, "Three.")] {
        fold(&mut transcript, event);
    }
    let entry = transcript.find(11).unwrap();
    assert_eq!((entry.text.as_str(), entry.calls.len(), entry.is_streaming()), ("Adding. Three.", 1, true));
    assert!(!transcript.has_gap());
}

fn folded(events: impl IntoIterator<Item = ChatEvent>) -> Transcript {
    let mut transcript = Transcript::default();
    for event in events {
        fold(&mut transcript, event);
    }
    transcript
}

/// A turn as the server sends it: pieces of text, each followed by a call that runs.
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

#[test]
fn a_turn_is_told() {
    let transcript = folded(turn(1, &["Let me add. ".to_owned()], Ending::Completes));
    let [user, assistant] = transcript.entries() else { panic!("two messages") };
    assert_eq!((user.id, user.text.as_str()), (10, "Question 1"));
    assert_eq!((assistant.id, assistant.text.as_str()), (11, "Let me add. "));
    assert_eq!(assistant.status, MessageStatus::Complete);
    assert_eq!(assistant.calls[0].output.as_deref(), Some("3"));
    assert_eq!(assistant.calls[0].duration_ms, Some(4));
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
    assert_eq!(answer.calls[0].status, ToolCallStatus::Interrupted);
}

#[test]
fn an_error_that_concerns_the_reader_leaves_the_turn_alone() {
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

/// A turn's beginning and then `error`, as a browser reads them from the bytes of one connection; the number of events
/// that end the turn, too.
fn read_until_error(error: &ChatEvent, id: Option<&str>) -> (Transcript, usize) {
    let mut bytes = String::new();
    for (id, event) in ["11.1.1", "11.1.2", "11.1.3"].into_iter().zip([start(1), delta(0, "Well"), call_start(100, 4)])
    {
        bytes.push_str(&write_frame(Some(id), event.name(), &event.data().unwrap()));
    }
    bytes.push_str(&write_frame(id, error.name(), &error.data().unwrap()));
    let frames = Decoder::new().push(bytes.as_bytes()).unwrap();
    assert!(frames.last().unwrap().id.is_some(), "an id stays in force, so it tells nothing about the error");
    let events: Vec<_> = frames.iter().map(|frame| ChatEvent::parse(&frame.event, &frame.data).unwrap()).collect();
    let ends = events.iter().filter(|event| event.is_terminal()).count();
    (folded(events), ends)
}

#[test]
fn a_turn_goes_on_after_an_error_frame_without_id() {
    let error = TurnError {
        error: "The database is away.".to_owned(),
        code: "storage_unavailable".to_owned(),
        user_message_id: None,
        assistant_message_id: None,
    };
    let (transcript, ends) = read_until_error(&ChatEvent::Error(error), None);
    let answer = &transcript.entries()[1];
    assert_eq!((answer.status, answer.error.as_deref()), (MessageStatus::Streaming, None));
    assert_eq!(answer.calls[0].status, ToolCallStatus::Pending);
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
fn text_of_an_old_turn_heard_again_stays_out_of_the_new_one() {
    let first = turn(1, &["One ".to_owned()], Ending::Completes);
    let mut transcript = folded(first.iter().cloned().chain([start(2), delta(0, "Two")]));
    for event in first {
        fold(&mut transcript, event);
    }
    assert_eq!(transcript.entries()[3].text, "Two");
}

proptest! {
    #[test]
    fn hearing_things_again_changes_nothing(
        events in any_turn(1),
        repeats in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
    ) {
        let expected = folded(events.iter().cloned());
        // Any event may come again at any later moment, and any beginning of the stream may be played again.
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

/// A turn of another branch: what it begins with.
fn version(parent_id: Option<i64>, user: i64, assistant: i64, user_siblings: &[i64], siblings: &[i64]) -> ChatEvent {
    ChatEvent::MessageStart(MessageStart {
        user_message_id: user,
        assistant_message_id: assistant,
        conversation_id: uuid::Uuid::nil(),
        content: format!("Question {user}"),
        parent_id,
        user_siblings: user_siblings.to_vec(),
        assistant_siblings: siblings.to_vec(),
    })
}

fn ids(transcript: &Transcript) -> Vec<i64> {
    transcript.entries().iter().map(|entry| entry.id).collect()
}

#[test]
fn another_version_takes_the_place_of_what_it_replaces_and_all_after_it() {
    let two_turns = [start(1), end(1, "One", vec![]), start(2), end(2, "Two", vec![])];
    for (event, shown, siblings) in [
        // The first answer written anew, the second question edited, the first question edited.
        (version(None, 10, 30, &[], &[11, 30]), vec![10, 30], vec![vec![], vec![11, 30]]),
        (version(Some(11), 30, 31, &[20, 30], &[]), vec![10, 11, 30, 31], vec![vec![], vec![], vec![20, 30], vec![]]),
        (version(None, 30, 31, &[10, 30], &[]), vec![30, 31], vec![vec![10, 30], vec![]]),
    ] {
        let mut transcript = folded(two_turns.iter().cloned().chain([event.clone()]));
        assert_eq!(ids(&transcript), shown);
        assert_eq!(transcript.entries().iter().map(|entry| entry.siblings.clone()).collect::<Vec<_>>(), siblings);
        // Heard again, and what it replaced too, it changes nothing.
        let once = transcript.clone();
        fold(&mut transcript, two_turns[2].clone());
        fold(&mut transcript, event);
        assert_eq!(transcript.entries(), once.entries());
    }
}

#[test]
fn a_version_that_is_asked_for_takes_its_place_before_it_begins() {
    let mut transcript = folded([start(1), end(1, "One", vec![]), start(2), end(2, "Two", vec![])]);
    transcript.cut_before(21);
    assert_eq!(ids(&transcript), [10, 11, 20]);
    // Its beginning was missed, but not where it belongs.
    fold(&mut transcript, snapshot(3, "Anew", vec![]));
    assert_eq!(ids(&transcript), [10, 11, 20, 31]);
    assert_eq!(transcript.cut_before(99), []);
    assert_eq!(ids(&transcript), [10, 11, 20, 31]);
}

#[test]
fn what_came_to_nothing_leaves_no_trace_whatever_came_in_front_meanwhile() {
    let mut transcript = Transcript::from(part(4..=9));
    let cut = transcript.cut_before(80);
    assert_eq!(cut.len(), 4);
    transcript.put_before(40, part(1..=3));
    transcript.put_back(cut.clone());
    assert_eq!(transcript, Transcript::from(part(1..=9)));
    transcript.put_back(cut);
    assert_eq!(transcript, Transcript::from(part(1..=9)));
}

#[test]
fn what_all_answers_cost_is_told_when_there_is_more_than_one() {
    assert_eq!(Transcript::default().usage(), None);
    assert_eq!(Transcript::from(part(1..=1)).usage(), None);
    assert_eq!(Transcript::from(part(1..=2)).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
    assert_eq!(Transcript::from(part(3..=3)).usage(), Some([PER_ANSWER; 3].into_iter().sum()));
    let mut uncounted = part(3..=3);
    uncounted.messages.iter_mut().for_each(|message| message.usage = None);
    assert_eq!(Transcript::from(uncounted).usage(), Some([PER_ANSWER; 2].into_iter().sum()));
}

const PER_ANSWER: Usage = Usage { input_tokens: 5, output_tokens: 1, cached_tokens: 0 };

/// The turns `turns` of a conversation as the server gives a part of it.
fn part(turns: std::ops::RangeInclusive<i64>) -> Conversation {
    let at = chrono::DateTime::UNIX_EPOCH;
    let message = |id, role, usage| Message {
        id,
        role,
        epoch: 1,
        content: format!("Text {id}"),
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: None,
        tool_calls: if role == Role::Assistant { vec![stored_call(id, 0, true)] } else { vec![] },
        siblings: vec![],
        usage,
        created_at: at,
    };
    let before = turns.start() - 1;
    Conversation {
        summary: ConversationSummary {
            uuid: uuid::Uuid::nil(),
            title: "Long".to_owned(),
            running: false,
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

#[test]
fn earlier_messages_come_in_front_and_the_cost_of_all_stays_the_same() {
    let whole = Transcript::from(part(1..=9));
    let mut transcript = Transcript::from(part(7..=9));
    assert!(transcript.has_earlier());
    assert_eq!(transcript.usage(), whole.usage());
    transcript.put_before(70, part(4..=6));
    assert_eq!((transcript.first(), transcript.has_earlier()), (Some(40), true));
    assert_eq!(transcript.usage(), whole.usage());
    // Heard again, it changes nothing.
    let once = transcript.clone();
    assert!(!transcript.put_before(70, part(4..=6)));
    assert_eq!(transcript, once);
    transcript.put_before(40, part(1..=3));
    assert_eq!(transcript, whole);
}

#[test]
fn earlier_messages_of_what_is_shown_no_more_stay_out() {
    let mut transcript = Transcript::from(part(7..=9));
    // The first message that is here is being changed.
    transcript.cut_before(70);
    transcript.put_before(70, part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![], true));
    // Its new version stands after what is not here.
    fold(&mut transcript, version(Some(61), 100, 101, &[70, 100], &[]));
    transcript.put_before(70, part(4..=6));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![100, 101], true));
    transcript.put_before(100, part(4..=6));
    assert_eq!(ids(&transcript), [40, 41, 50, 51, 60, 61, 100, 101]);
    // Another beginning of the whole conversation has nothing before it.
    fold(&mut transcript, version(None, 110, 111, &[10, 110], &[]));
    assert_eq!((ids(&transcript), transcript.has_earlier()), (vec![110, 111], false));
}

#[test]
fn what_is_taken_anew_leaves_what_came_before_it() {
    let loaded = Transcript::from(part(4..=9));
    for (stored, first) in [
        (part(7..=9), 40),
        (part(7..=10), 40),
        (part(4..=9), 40),
        (part(3..=9), 30),
        // Of another branch.
        (part(10..=11), 100),
    ] {
        let mut transcript = loaded.clone();
        let last = stored.messages.last().unwrap().id;
        let whole = Transcript::from(part(1..=last / 10));
        transcript.renew(stored);
        assert_eq!((transcript.first(), ids(&transcript).pop()), (Some(first), Some(last)));
        assert_eq!(transcript.usage(), whole.usage());
    }
}

#[test]
fn a_turn_goes_on_while_earlier_messages_come_in() {
    let events = [start(10), delta(0, "Adding. "), call_start(1000, 8), call_end(1000), delta(8, "Three.")];
    let expected = {
        let mut transcript = Transcript::from(part(4..=9));
        events.iter().cloned().for_each(|event| fold(&mut transcript, event));
        transcript
    };
    for at in 0..=events.len() {
        let mut transcript = Transcript::from(part(7..=9));
        let (before, after) = events.split_at(at);
        before.iter().cloned().for_each(|event| fold(&mut transcript, event));
        transcript.put_before(70, part(4..=6));
        after.iter().cloned().for_each(|event| fold(&mut transcript, event));
        assert_eq!(transcript, expected, "after {at} events");
    }
}

#[test]
fn what_changed_is_found_without_looking_at_the_rest() {
    let drawn = Transcript::from(part(1..=9));
    let mut known = drawn.clone();
    assert!(known.changed_since(&drawn).is_empty());
    fold(&mut known, start(10));
    fold(&mut known, delta(0, "One"));
    let changed = |known: &Transcript, drawn: &Transcript| -> Vec<i64> {
        known.changed_since(drawn).iter().map(|entry| entry.id).collect()
    };
    assert_eq!(changed(&known, &drawn), [100, 101]);
    let drawn = known.clone();
    fold(&mut known, delta(3, " more"));
    assert_eq!(changed(&known, &drawn), [101]);
}
