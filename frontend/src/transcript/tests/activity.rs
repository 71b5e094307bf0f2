//! The activity of a model while it writes no text.

use tallybook_protocol::{ChatEvent, ModelRetry, ToolCallPreparing};

use super::{
    super::{Activity, Transcript, fold},
    Ending, call_start, delta, folded, snapshot, start, turn,
};

fn preparing(bytes: u64) -> ChatEvent {
    ChatEvent::ToolCallPreparing(ToolCallPreparing { tool_name: "add".to_owned(), bytes })
}

fn retry() -> ChatEvent {
    let code = "model_overloaded".to_owned();
    ChatEvent::ModelRetry(ModelRetry { code, attempt: 2, attempts: 4, delay_ms: 1000 })
}

fn activity(transcript: &Transcript) -> Option<&Activity> {
    transcript.entries().last().and_then(|entry| entry.activity.as_ref())
}

#[test]
fn the_activity_is_known_until_the_answer_continues() {
    for next in [call_start(7, 0), delta(0, "Three"), snapshot(1, "", vec![])] {
        let mut transcript = folded([start(1), retry()]);
        assert!(matches!(activity(&transcript), Some(Activity::Retrying(retry)) if retry.attempt == 2));
        fold(&mut transcript, preparing(64));
        fold(&mut transcript, preparing(128));
        assert!(matches!(activity(&transcript), Some(Activity::WritingCall(call)) if call.bytes == 128));
        fold(&mut transcript, ChatEvent::Unknown);
        assert!(activity(&transcript).is_some());
        fold(&mut transcript, next.clone());
        assert_eq!(activity(&transcript), None, "{next:?}");
    }
}

#[test]
fn a_turn_that_has_ended_has_no_activity() {
    let mut transcript = folded([start(1), preparing(64)]);
    for event in turn(1, &["Three.".to_owned()], Ending::Completes) {
        fold(&mut transcript, event);
    }
    assert_eq!(activity(&transcript), None);
    let whole = transcript.clone();
    fold(&mut transcript, preparing(128));
    assert_eq!(transcript, whole);
}
