//! Changes in other tabs while this tab is busy.

use tallybook_protocol::{
    MessageStatus::{AwaitingApproval, Complete, Stopped, Streaming},
    Window,
};

use super::*;

#[test]
fn a_pause_that_was_stopped_elsewhere_during_a_load_is_loaded_again() {
    let mut here = TestPage::open("Q1");
    here.feed(news(FeedKind::TurnStarted));
    let paused = conversation(&[(1, "Q1", Complete), (2, "Q2", AwaitingApproval)]);
    // The feed reports the pause and the end. The load returns the state between the two.
    here.feed(news(FeedKind::TurnEnded));
    here.feed(news(FeedKind::TurnEnded));
    here.answer(Response::Loaded(Ok(Some(paused.clone()))));
    assert_eq!(here.state.phase(), Phase::Awaiting);
    assert!(matches!(here.state.connection, Connection::Refetching(_)), "the conversation is loaded again");
    here.answer(Response::Loaded(Ok(Some(paused))));
    assert_eq!(here.state.connection, Connection::Idle, "it is loaded again only once");
}

#[test]
fn an_answer_that_was_resumed_elsewhere_before_the_next_message_is_loaded_again() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Stopped)]));
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), end(2, "A2")]);
    here.feed(Input::News(News::Missed));
    let (_, Request::Load(HERE, window)) = here.waits_for() else { panic!("the conversation is not loaded") };
    assert_eq!(
        window,
        Window { limit: Some(50), from: Some(MessageId(10)), before: None },
        "the first answer is loaded, too"
    );
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    let statuses: Vec<_> = here.state.transcript.entries().iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Complete; 4]);
}

/// Feeds the start of a turn below a message that is not loaded. The session must load the conversation.
fn tell_unknown(here: &mut TestPage, turn: i64) {
    here.events(vec![start(turn, &format!("Q{turn}"))]);
    let (_, Request::Load(..)) = here.waits_for() else { panic!("nothing is loaded for turn {turn}") };
}

#[test]
fn the_conversation_is_loaded_for_each_turn_below_an_unknown_message() {
    let mut here = TestPage::open("Q1");
    here.send("Q3");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 3);
    let (third, fifth) = ((3, "Q3", Complete), (5, "Q5", Streaming));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete), third])))));
    // The loaded conversation already shows that turn's end. The next message is again below an unknown turn.
    here.send("Q5");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 5);
    here.answer(Response::Loaded(Ok(Some(conversation(&[third, (4, "Q4", Complete), fifth])))));
    // When that turn is joined, yet another one runs.
    here.answer(Response::Joined(Ok(true)));
    tell_unknown(&mut here, 7);
}

#[test]
fn a_turn_that_the_loaded_conversation_lacks_is_followed_all_the_same() {
    let mut here = TestPage::open("Q1");
    here.send("Q3");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 3);
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    here.answer(Response::Joined(Ok(true)));
    here.events(vec![start(3, "Q3")]);
    assert_eq!(here.state.connection, Connection::Streaming, "the conversation is loaded once for an unknown answer");
}

/// Opens a conversation whose running answer is being followed.
fn following() -> TestPage {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), delta("Half")]);
    here
}

/// Returns the end of a turn whose conversation was deleted.
fn deleted_end() -> ChatEvent {
    let ChatEvent::MessageEnd(end) = end(2, "Half") else { unreachable!() };
    ChatEvent::MessageEnd(MessageEnd { status: Stopped, conversation_deleted: true, ..end })
}

/// Asserts that the session knows of the deletion, and that it neither shows an end of the answer nor requests
/// anything for the conversation.
fn assert_deleted(here: &TestPage, requests: &[Effect]) {
    assert_eq!((&here.state.place, here.state.phase()), (&Place::Deleted, Phase::Idle));
    let last = here.state.transcript.entries().last().map(|last| last.status);
    assert_eq!(last, Some(Streaming), "the end would be announced");
    let is_request = |effect: &Effect| matches!(effect, Effect::Perform(..) | Effect::Stop(..));
    assert!(!requests.iter().any(is_request), "{requests:?}");
}

#[test]
fn a_deletion_is_recognized_by_the_end_of_the_turn_before_the_feed_reports_it() {
    let mut here = following();
    // Something has changed in the meantime, so that the session would load the conversation after the turn.
    here.feed(Input::News(News::Missed));
    let effects = here.events(vec![deleted_end()]).to_vec();
    assert_deleted(&here, &effects);
    let effects = here.feed(news(FeedKind::ConversationDeleted)).to_vec();
    assert_deleted(&here, &effects);
    assert!(effects.is_empty(), "the deletion is handled once: {effects:?}");
}

#[test]
fn the_end_of_a_turn_is_ignored_after_the_feed_reported_the_deletion() {
    let mut here = following();
    let ticket = here.state.connection_ticket;
    let effects = here.feed(news(FeedKind::ConversationDeleted)).to_vec();
    assert_deleted(&here, &effects);
    let end = Response::Events(vec![(Some("2".to_owned()), deleted_end())]);
    let effects = here.feed(Input::Response(ticket, end)).to_vec();
    assert_deleted(&here, &effects);
    assert!(effects.is_empty(), "{effects:?}");
}

#[test]
fn a_message_that_was_stored_before_the_deletion_does_not_return_to_the_field() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), deleted_end()]);
    assert_eq!((&here.state.place, here.state.draft.as_str()), (&Place::Deleted, ""));
}
