//! Decisions on calls that wait for approval.

use tallybook_protocol::{CallDecision, Decision, MessageStatus::AwaitingApproval};

use super::*;

pub(super) fn decision(id: ToolCallId) -> CallDecision {
    CallDecision { tool_call_id: id, decision: Decision::Approve, reason: None, input: None, remember: None }
}

/// A conversation whose answer waits for decisions on these calls.
fn paused(calls: &[i64]) -> Conversation {
    let mut stored = conversation(&[(1, "Q1", AwaitingApproval)]);
    stored.messages[1].tool_calls =
        calls.iter().map(|id| waiting_call(*id, ToolCallStatus::AwaitingApproval)).collect();
    stored
}

fn waiting(calls: &[i64]) -> TestPage {
    TestPage::opened(paused(calls))
}

/// Returns the calls of the requested decisions.
fn asked(here: &TestPage) -> Vec<i64> {
    let (_, Request::Decide(HERE, decisions)) = here.waits_for() else { panic!("{:?}", here.waits_for()) };
    decisions.iter().map(|decision| decision.tool_call_id.0).collect()
}

fn decide(here: &mut TestPage, ids: &[i64]) {
    here.act(Action::Decide(ids.iter().map(|id| decision(ToolCallId(*id))).collect()));
}

#[test]
fn after_the_last_decision_the_turn_resumes_in_the_same_answer() {
    let mut here = waiting(&[7]);
    assert_eq!(here.state.phase(), Phase::Awaiting);
    decide(&mut here, &[7]);
    assert_eq!((asked(&here), here.state.phase()), (vec![7], Phase::Following));
    let sent = here.done.len();
    decide(&mut here, &[7]);
    assert_eq!(here.done.len(), sent, "a call is decided on once");
    here.answer(Response::Started(Ok(())));
    here.events(vec![end(1, "Paid.")]);
    assert_eq!((here.texts(), here.state.phase()), (vec!["Q1", "Paid."], Phase::Idle));
}

#[test]
fn the_conversation_is_loaded_again_while_other_calls_still_wait() {
    let mut here = waiting(&[7, 8]);
    decide(&mut here, &[7]);
    here.answer(Response::DecisionsStored);
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)));
    let mut stored = paused(&[7, 8]);
    stored.messages[1].tool_calls[0].status = ToolCallStatus::Denied;
    here.answer(Response::Loaded(Ok(Some(stored))));
    assert_eq!(here.state.phase(), Phase::Awaiting);
    decide(&mut here, &[7, 8]);
    assert_eq!(asked(&here), [8], "the other call is already decided");
}

#[test]
fn a_late_decision_shows_the_error_and_loads_the_current_state() {
    let mut here = waiting(&[7]);
    decide(&mut here, &[7]);
    here.answer(Response::Started(Err(refused(409))));
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)));
    let stored = conversation(&[(1, "Q1", MessageStatus::Streaming)]);
    here.answer(Response::Loaded(Ok(Some(stored))));
    assert_eq!(here.state.notice.as_deref(), Some("No."));
    assert!(matches!(here.waits_for().1, Request::Join(HERE, None)), "a turn that was resumed elsewhere is joined");
}

#[test]
fn a_message_sent_while_a_call_waits_is_queued_until_the_answer_ends() {
    let mut here = waiting(&[7]);
    here.send("And then?");
    assert_eq!(here.state.queue.messages.len(), 1);
    decide(&mut here, &[7]);
    here.answer(Response::Started(Ok(())));
    here.events(vec![end(1, "Paid.")]);
    let (_, Request::Send(HERE, message)) = here.waits_for() else { panic!("{:?}", here.waits_for()) };
    assert_eq!(message.content, "And then?");
}

#[test]
fn a_message_returns_to_its_field_if_the_loaded_conversation_waits_for_approval() {
    let mut here = TestPage::new(Place::Loading(HERE), "");
    here.send("For here");
    here.answer(Response::Loaded(Ok(Some(paused(&[7])))));
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("For here", Phase::Awaiting));
    assert!(here.state.notice.as_deref().is_some_and(|notice| notice.contains("approval")));
}

#[test]
fn stop_ends_a_turn_that_waits_for_approval() {
    for outcome in [Ok(()), Err(refused(409))] {
        let mut here = waiting(&[7]);
        here.act(Action::Stop);
        assert_eq!(here.stops(), 1);
        decide(&mut here, &[7]);
        assert!(
            !here.done.iter().any(|effect| matches!(effect, Effect::Perform(_, Request::Decide(..)))),
            "a stop was requested"
        );
        here.feed(Input::Stopped(here.stop_ticket(), outcome));
        assert!(matches!(here.waits_for().1, Request::Load(HERE, _)), "a waiting turn has no stream");
        here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", MessageStatus::Stopped)])))));
        assert_eq!((here.state.phase(), here.state.is_stopping()), (Phase::Idle, false));
    }
}

#[test]
fn decisions_made_elsewhere_are_loaded() {
    for kind in [FeedKind::TurnStarted, FeedKind::TurnEnded, FeedKind::ConversationUpdated] {
        let mut here = waiting(&[7, 8]);
        here.feed(news(kind));
        assert!(matches!(here.waits_for().1, Request::Load(HERE, _)), "{kind:?}");
        assert_eq!(here.state.phase(), Phase::Awaiting, "the user can decide meanwhile");
        decide(&mut here, &[7]);
        assert_eq!(asked(&here), [7]);
    }
}
