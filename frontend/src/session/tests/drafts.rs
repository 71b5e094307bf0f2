//! Texts that are being written, after a reload and when something happens elsewhere.

use tallybook_protocol::MessageStatus::{Complete, Stopped, Streaming};

use super::*;
use crate::session::{shown::Edited, storage::Elsewhere};

fn stored(turns: &[(i64, &str)]) -> Response {
    let turns: Vec<_> = turns.iter().map(|(turn, question)| (*turn, *question, Complete)).collect();
    Response::Loaded(Ok(Some(conversation(&turns))))
}

/// A conversation in which the question of this turn is being edited.
fn editing(told: &mut TestPage, turn: i64, text: &str) {
    let id = MessageId(turn * 10);
    told.act(Action::BeginEdit(Some(Edited { id, text: "as it was".to_owned(), is_changed: false })));
    told.act(Action::WriteEdit(text.to_owned()));
}

#[test]
fn a_draft_that_equals_the_last_question_stays() {
    let mut here = TestPage::open("Again");
    here.act(Action::Write("Again".to_owned()));
    let mut again = here.reloaded();
    again.answer(stored(&[(1, "Again")]));
    assert_eq!(again.state.draft, "Again");
}

#[test]
fn a_stored_message_leaves_the_draft() {
    let mut here = TestPage::open("Again");
    here.send("Again");
    let mut lost = here.reloaded();
    lost.answer(stored(&[(1, "Again")]));
    assert_eq!(lost.state.draft, "Again", "the question was there before");
    let mut arrived = here.reloaded();
    arrived.answer(stored(&[(1, "Again"), (2, "Again")]));
    assert_eq!(arrived.state.draft, "");
    lost.act(Action::SendDraft("another id".to_owned()));
    let Request::Send(_, message) = lost.waits_for().1 else { panic!("it is not sent") };
    assert_eq!(message.client_message_id.as_deref(), Some("id of Again"), "it is the same message");
}

#[test]
fn an_edited_question_is_there_again_after_a_reload() {
    let mut here = TestPage::open("Q1");
    editing(&mut here, 1, "Q1, but better");
    let mut again = here.reloaded();
    again.answer(stored(&[(1, "Q1")]));
    let edited = again.state.edited.clone().unwrap();
    assert_eq!((edited.id, edited.text.as_str()), (MessageId(10), "Q1, but better"));
    assert_eq!(again.state.draft, "");
    again.act(Action::BeginEdit(None));
    assert_eq!(again.reloaded().state.edited, None, "given up");
}

#[test]
fn an_edit_on_its_way_is_kept_as_an_edit() {
    let mut here = TestPage::open("Q1");
    editing(&mut here, 1, "Better");
    here.act(Action::Edit(MessageId(10), "Better".to_owned(), "id".to_owned()));
    let mut lost = here.reloaded();
    assert_eq!(lost.state.draft, "");
    lost.answer(stored(&[(1, "Q1")]));
    assert_eq!(lost.state.edited.as_ref().map(|edited| edited.text.as_str()), Some("Better"));
    let mut arrived = here.reloaded();
    arrived.answer(stored(&[(3, "Better")]));
    assert_eq!((arrived.state.edited.as_ref(), arrived.state.draft.as_str()), (None, ""));
}

#[test]
fn an_edited_text_goes_into_the_message_field_when_its_question_is_gone() {
    let branch = |here: &mut TestPage| {
        here.tell(news(FeedKind::BranchSelected));
        while matches!(here.state.connection, Connection::Refetching(_)) {
            here.answer(stored(&[(3, "Other")]));
        }
    };
    let mut here = TestPage::open("Q1");
    here.act(Action::Write("Half a thought".to_owned()));
    editing(&mut here, 1, "Better");
    branch(&mut here);
    assert_eq!(here.state.draft, "Better\nHalf a thought");
    assert_eq!(here.state.edited, None);
    assert!(here.state.notice.is_some());
    here.tell(news(FeedKind::TurnStarted));
    while matches!(here.state.connection, Connection::Refetching(_)) {
        here.answer(Response::Loaded(Ok(Some(conversation(&[(3, "Other", Streaming)])))));
    }
    here.answer(Response::Joined(Ok(false)));
    while matches!(here.state.connection, Connection::Refetching(_)) {
        here.answer(stored(&[(3, "Other")]));
    }
    assert_eq!(here.state.connection, Connection::Idle);
    assert!(here.state.notice.is_some(), "a missed end does not concern the edit");

    let mut deleted = TestPage::open("Q1");
    editing(&mut deleted, 1, "Better");
    deleted.tell(news(FeedKind::ConversationDeleted));
    assert_eq!(deleted.state.draft, "Better");

    let mut unchanged = TestPage::open("Q1");
    let edited = Edited { id: MessageId(10), text: "Q1".to_owned(), is_changed: false };
    unchanged.act(Action::BeginEdit(Some(edited)));
    branch(&mut unchanged);
    assert_eq!((unchanged.state.draft.as_str(), unchanged.state.edited.as_ref()), ("", None));
}

#[test]
fn a_change_of_another_tab_is_adopted_unless_a_message_is_on_its_way() {
    let mut here = TestPage::open("Q1");
    here.tell(Input::Elsewhere(Elsewhere::Draft("Written there".to_owned())));
    assert_eq!(here.state.draft, "Written there");
    here.act(Action::SendDraft("id".to_owned()));
    here.tell(Input::Elsewhere(Elsewhere::Draft("Older".to_owned())));
    assert_eq!(here.state.unsent(), "Written there");
}

#[test]
fn the_queue_of_another_tab_is_adopted_and_not_sent_by_an_idle_tab() {
    let mut here = TestPage::open("Q1");
    here.tell(Input::Elsewhere(Elsewhere::Queue(queue_of(&["Q2"]))));
    assert_eq!(here.state.queue.messages.len(), 1);
    assert_eq!(here.state.phase(), Phase::Idle);
    here.tell(Input::Elsewhere(Elsewhere::Queue(Queue::default())));
    assert_eq!(here.state.queue.messages.len(), 0);
}

#[test]
fn a_changed_message_that_waits_is_there_again_after_a_reload() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    here.send("Q2");
    here.act(Action::EditQueued(Some("id of Q2".to_owned())));
    here.act(Action::WriteQueued("Q2, but better".to_owned()));
    let mut again = here.reloaded();
    again.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Streaming)])))));
    assert_eq!(again.state.queue.edited_text.as_deref(), Some("Q2, but better"));
    assert_eq!(again.state.queue.edited.as_deref(), Some("id of Q2"));
    again.tell(news(FeedKind::ConversationDeleted));
    assert_eq!(again.state.draft, "Q2, but better");
}

#[test]
fn what_waits_after_stop_stays_until_its_own_button_is_pressed() {
    let ended = |turn, status| {
        let ChatEvent::MessageEnd(end) = end(turn, "A") else { unreachable!() };
        ChatEvent::MessageEnd(MessageEnd { status, ..end })
    };
    let waiting = |told: &TestPage| told.state.queue.messages.len();
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    here.send("Q2");
    here.events(vec![ended(1, Stopped)]);
    here.send("Alone");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Alone"), ended(2, Complete)]);
    assert_eq!((waiting(&here), here.state.phase()), (1, Phase::Idle), "a new message goes alone");
    let mut again = here.reloaded();
    again.answer(stored(&[(1, "Q1"), (2, "Alone")]));
    assert_eq!((waiting(&again), again.state.phase()), (1, Phase::Idle), "also after a reload");
    here.act(Action::SendNow);
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q2"), ended(3, Complete)]);
    assert_eq!(waiting(&here), 0);
}

#[test]
fn messages_are_left_to_be_sent_only_while_an_answer_is_written() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    assert_eq!(here.state.left_waiting(), None);
    here.send("Q2");
    assert_eq!(here.state.left_waiting(), Some(HERE));
    here.tell(Input::Leaving(true));
    assert_eq!(here.state.left_waiting(), None, "the conversation is being deleted");
    here.tell(Input::Leaving(false));
    let ChatEvent::MessageEnd(end) = end(1, "A") else { unreachable!() };
    here.events(vec![ChatEvent::MessageEnd(MessageEnd { status: Stopped, ..end })]);
    assert_eq!(here.state.left_waiting(), None, "they are held");
}
