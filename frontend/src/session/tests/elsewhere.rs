//! Changes in other tabs while this tab is busy.

use tallybook_protocol::{
    MessageStatus::{AwaitingApproval, Complete, Stopped, Streaming},
    Window,
};

use super::*;

#[test]
fn a_pause_that_was_stopped_elsewhere_while_it_was_read_is_read_again() {
    let mut here = TestPage::open("Q1");
    here.tell(news(FeedKind::TurnStarted));
    let paused = conversation(&[(1, "Q1", Complete), (2, "Q2", AwaitingApproval)]);
    // The pause, and the end: it was read between the two.
    here.tell(news(FeedKind::TurnEnded));
    here.tell(news(FeedKind::TurnEnded));
    here.answer(Response::Loaded(Ok(Some(paused.clone()))));
    assert_eq!(here.state.phase(), Phase::Awaiting);
    assert!(matches!(here.state.connection, Connection::Refetching(_)), "it looks again");
    here.answer(Response::Loaded(Ok(Some(paused))));
    assert_eq!(here.state.connection, Connection::Idle, "once is enough");
}

#[test]
fn an_answer_that_was_continued_elsewhere_before_a_message_is_loaded_again() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Stopped)]));
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), end(2, "A2")]);
    here.tell(Input::News(News::Missed));
    let (_, Request::Load(HERE, window)) = here.waits_for() else { panic!("it looks") };
    assert_eq!(window, Window { limit: Some(50), from: Some(MessageId(10)), before: None }, "at the first answer, too");
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    let statuses: Vec<_> = here.state.transcript.entries().iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [Complete; 4]);
}

/// Feeds the events of a turn below an unknown message.
fn tell_unknown(here: &mut TestPage, turn: i64) {
    here.events(vec![start(turn, &format!("Q{turn}"))]);
    let (_, Request::Load(..)) = here.waits_for() else { panic!("turn {turn} is looked up") };
}

#[test]
fn each_turn_that_is_out_of_place_is_looked_up() {
    let mut here = TestPage::open("Q1");
    here.send("Q3");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 3);
    let (third, fifth) = ((3, "Q3", Complete), (5, "Q5", Streaming));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete), third])))));
    // Its end was found before any more was heard of it, and the next message comes below another turn yet.
    here.send("Q5");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 5);
    here.answer(Response::Loaded(Ok(Some(conversation(&[third, (4, "Q4", Complete), fifth])))));
    // By the time that it is joined, one more is there.
    here.answer(Response::Joined(Ok(true)));
    tell_unknown(&mut here, 7);
}

#[test]
fn a_turn_that_was_looked_up_in_vain_is_read_all_the_same() {
    let mut here = TestPage::open("Q1");
    here.send("Q3");
    here.answer(Response::Started(Ok(())));
    tell_unknown(&mut here, 3);
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    here.answer(Response::Joined(Ok(true)));
    here.events(vec![start(3, "Q3")]);
    assert_eq!(here.state.connection, Connection::Streaming, "the conversation is loaded once for an unknown answer");
}
