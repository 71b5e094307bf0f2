//! Planned answers: the plan, and the text and items of each step.

use proptest::prelude::*;
use tallybook_protocol::{
    AnswerMode, ChatEvent, MessageEnd, MessageStatus, Plan, PlanId, PlanStep, PlanStepChanged, PlanStepId,
    PlanStepStatus, ReasoningDelta, Snapshot,
};

use super::{
    super::{Entry, ItemKey, Segment, StepState, fold},
    call_end, call_start, delta, end, failure, folded, snapshot, start, stored_call,
};

fn step(id: i64, revision: i32) -> PlanStep {
    PlanStep { step_id: PlanStepId(id), revision, instruction: format!("Do {id}"), ..PlanStep::default() }
}

fn plan(revision: i32, steps: Vec<PlanStep>) -> Plan {
    let reason = (revision > 1).then(|| "It came to nothing.".to_owned());
    Plan { plan_id: PlanId(1), revision, reason, steps, ..Plan::default() }
}

fn changed(id: i64, status: PlanStepStatus, attempt: i32, offset: usize, calls_before: i64) -> ChatEvent {
    let (plan_id, step_id, offset) = (PlanId(1), PlanStepId(id), i64::try_from(offset).unwrap());
    ChatEvent::PlanStep(PlanStepChanged { plan_id, step_id, status, attempt, reason: None, offset, calls_before })
}

/// Returns the events of two steps, the second with two attempts, and of the final text.
fn story() -> Vec<ChatEvent> {
    use PlanStepStatus::{Completed, Executing};
    vec![
        start(1),
        ChatEvent::Plan(plan(1, vec![step(1, 1), step(2, 1)])),
        changed(1, Executing, 1, 0, 0),
        call_start(100, 0),
        call_end(100),
        delta(0, "One."),
        changed(1, Completed, 1, 4, 1),
        changed(2, Executing, 1, 4, 1),
        delta(4, "\n\n"),
        call_start(101, 6),
        call_end(101),
        delta(6, "Error: no."),
        changed(2, Executing, 2, 16, 2),
        call_start(102, 16),
        call_end(102),
        delta(16, "\n\nTwo."),
        changed(2, Completed, 2, 22, 3),
        delta(22, "\n\nThe answer."),
    ]
}

/// Formats segments, as in `[100] One.`.
fn drawn(entry: &Entry, pieces: &[Segment]) -> String {
    let words = pieces.iter().map(|piece| match piece {
        Segment::Text(range) => entry.text[range.clone()].trim().to_owned(),
        Segment::Plan => "PLAN".to_owned(),
        Segment::Items(keys) => {
            let names = keys.iter().map(|key| match key {
                ItemKey::Call(id) => id.to_string(),
                ItemKey::Reasoning(_, id) => format!("t{id}"),
            });
            format!("[{}]", names.collect::<Vec<_>>().join(" "))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn step_drawn(entry: &Entry, id: i64) -> String {
    drawn(entry, &entry.segments_of(PlanStepId(id)))
}

#[test]
fn each_step_has_the_calls_and_text_of_all_its_attempts_and_the_final_text_follows_the_plan() {
    let transcript = folded(story());
    let entry = &transcript.entries()[1];
    assert_eq!(drawn(entry, &entry.segments()), "PLAN The answer.");
    assert_eq!(step_drawn(entry, 1), "[100] One.");
    assert_eq!(step_drawn(entry, 2), "[101] Error: no. [102] Two.");
    assert_eq!(entry.answer(), "The answer.");
}

#[test]
fn the_states_of_the_steps_follow_the_events() {
    let states = |count: usize| {
        let transcript = folded(story().into_iter().take(count));
        let entry = &transcript.entries()[1];
        let steps = &entry.plan.as_ref().unwrap().steps;
        steps.iter().map(|step| StepState::of(step, entry.status).name()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(states(2), "waiting waiting");
    assert_eq!(states(3), "working waiting");
    assert_eq!(states(7), "done waiting");
    assert_eq!(states(13), "done working");
    assert_eq!(states(18), "done done");
    // Text that is being written is in the running step.
    let transcript = folded(story().into_iter().take(6));
    let entry = &transcript.entries()[1];
    assert_eq!((drawn(entry, &entry.segments()), step_drawn(entry, 1)), ("PLAN".into(), "[100] One.".into()));
    assert_eq!(entry.answer(), "One.", "the final text is still missing");
}

#[test]
fn a_revised_plan_replaces_the_steps_that_have_not_started() {
    use PlanStepStatus::{Executing, Failed};
    let failed = PlanStep { status: Failed, attempt: 2, offset: Some(0), end_offset: Some(3), ..step(1, 1) };
    let events = [
        start(1),
        ChatEvent::Plan(plan(1, vec![step(1, 1), step(2, 1)])),
        changed(1, Executing, 1, 0, 0),
        delta(0, "No."),
        changed(1, Failed, 2, 3, 0),
        ChatEvent::Plan(plan(2, vec![failed, step(3, 2)])),
        changed(3, Executing, 1, 3, 0),
    ];
    let mut transcript = folded(events.clone());
    let before = transcript.clone();
    // Repeating all events does not bring back the old plan.
    for event in events {
        fold(&mut transcript, event);
    }
    assert_eq!(transcript, before);
    let plan = before.entries()[1].plan.clone().unwrap();
    assert_eq!((plan.revision, plan.steps.len(), plan.reason.is_some()), (2, 2, true));
    assert_eq!(plan.steps[1].status, Executing);
}

#[test]
fn a_client_that_joins_in_the_middle_has_the_same_answer() {
    let whole = folded(story());
    let plan = |count: usize| folded(story().into_iter().take(count)).entries()[1].plan.as_deref().cloned();
    for (count, text, calls) in [(6, "One.", vec![100]), (13, "One.\n\nError: no.", vec![100, 101])] {
        let calls = calls.into_iter().zip([0, 6]).map(|(id, offset)| stored_call(id, offset, true)).collect();
        let ChatEvent::Snapshot(snapshot_event) = snapshot(1, text, calls) else { unreachable!() };
        let snapshot_event = ChatEvent::Snapshot(Snapshot { plan: plan(count), ..snapshot_event });
        let rest = story().into_iter().skip(count);
        let joined = folded([start(1), snapshot_event.clone()].into_iter().chain(rest));
        let (entry, expected) = (&joined.entries()[1], &whole.entries()[1]);
        assert_eq!((&entry.plan, &entry.text), (&expected.plan, &expected.text));
        for id in [1, 2] {
            assert_eq!(step_drawn(entry, id), step_drawn(expected, id));
        }
        // A late snapshot does not revert the plan.
        let mut late = whole.clone();
        fold(&mut late, snapshot_event);
        assert_eq!(late.entries()[1].plan, expected.plan);
    }
}

#[test]
fn no_step_runs_after_the_end_of_an_answer() {
    let ChatEvent::MessageEnd(template) = end(1, "One.", vec![stored_call(100, 0, true)]) else { unreachable!() };
    let plan = folded(story().into_iter().take(6)).entries()[1].plan.as_deref().cloned();
    for (status, expected) in [
        (MessageStatus::Stopped, "stopped skipped"),
        (MessageStatus::AwaitingApproval, "awaiting waiting"),
        (MessageStatus::Complete, "stopped skipped"),
    ] {
        let end = ChatEvent::MessageEnd(MessageEnd { plan: plan.clone(), status, ..template.clone() });
        let transcript = folded(story().into_iter().take(6).chain([end]));
        let entry = &transcript.entries()[1];
        let steps = &entry.plan.as_ref().unwrap().steps;
        let states: Vec<_> = steps.iter().map(|step| StepState::of(step, entry.status).name()).collect();
        assert_eq!(states.join(" "), expected);
        assert!(entry.step_at_work().is_none());
    }
    let failed = folded(story().into_iter().take(6).chain([failure(1)]));
    assert!(failed.entries()[1].plan.is_some() && failed.entries()[1].step_at_work().is_none());
}

#[test]
fn an_answer_that_lacks_its_requested_plan_is_recognized() {
    let ChatEvent::MessageEnd(end_event) = end(1, "One.", Vec::new()) else { unreachable!() };
    let lacks_plan = |end: MessageEnd| folded([start(1), ChatEvent::MessageEnd(end)]).entries()[1].lacks_plan();
    let planned = MessageEnd { mode: AnswerMode::Plan, ..end_event.clone() };
    assert!(lacks_plan(planned.clone()));
    assert!(!lacks_plan(end_event));
    assert!(!lacks_plan(MessageEnd { plan: Some(Plan::default()), ..planned.clone() }));
    let stopped = MessageEnd { content: String::new(), status: MessageStatus::Stopped, ..planned };
    assert!(!lacks_plan(stopped), "it was stopped before there could be a plan");
}

#[test]
fn reasoning_belongs_to_the_step_in_which_it_happened() {
    let reasoning = |id, offset, calls_before| {
        let delta = "Hm".to_owned();
        ChatEvent::ReasoningDelta(ReasoningDelta {
            reasoning_id: id,
            offset,
            calls_before,
            delta,
            ..Default::default()
        })
    };
    let mut events = story();
    events.insert(17, reasoning(3, 22, 3));
    events.insert(9, reasoning(2, 6, 1));
    events.insert(3, reasoning(1, 0, 0));
    let transcript = folded(events);
    let entry = &transcript.entries()[1];
    assert_eq!(step_drawn(entry, 1), "[t1 100] One.");
    assert_eq!(step_drawn(entry, 2), "[t2 101] Error: no. [102] Two.");
    assert_eq!(drawn(entry, &entry.segments()), "PLAN [t3] The answer.");
}

proptest! {
    #[test]
    fn all_text_and_items_appear_once_whatever_positions_the_steps_have(
        text in "[a計🙂]{0,20}",
        offsets in proptest::collection::vec(-5i64..80, 0..6),
        places in proptest::collection::vec(
            (proptest::option::of(-5i64..80), proptest::option::of(-2i64..9), proptest::option::of(-5i64..80)), 0..5),
        plan_offset in -5i64..80,
    ) {
        let mut transcript = folded([start(1), delta(0, &text)]);
        for (id, offset) in (100..).zip(&offsets) {
            fold(&mut transcript, call_start(id, usize::try_from((*offset).max(0)).unwrap()));
        }
        let steps = (1..).zip(&places).map(|(id, &(offset, calls_before, end_offset))| {
            PlanStep { offset, calls_before, end_offset, ..step(id, 1) }
        });
        let plan = Plan { offset: plan_offset, ..plan(1, steps.collect()) };
        fold(&mut transcript, ChatEvent::Plan(plan));
        let entry = &transcript.entries()[1];
        let pieces = entry.all_segments();
        let joined: String = pieces.iter().filter_map(|piece| match piece {
            Segment::Text(range) => Some(&entry.text[range.clone()]),
            Segment::Items(_) | Segment::Plan => None,
        }).collect();
        prop_assert_eq!(&joined, &entry.text);
        let mut keys: Vec<ItemKey> = pieces.iter().flat_map(|piece| match piece {
            Segment::Items(keys) => keys.clone(),
            Segment::Text(_) | Segment::Plan => Vec::new(),
        }).collect();
        keys.sort();
        prop_assert_eq!(keys, entry.items.iter().map(super::super::Item::key).collect::<Vec<_>>());
        let apart: usize = (1..=5).map(|id| entry.segments_of(PlanStepId(id)).len()).sum::<usize>()
            + entry.segments().iter().filter(|piece| **piece != Segment::Plan).count();
        prop_assert_eq!(apart, pieces.len());
    }
}
