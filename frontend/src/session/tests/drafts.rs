//! Unsent texts, after a reload and after changes elsewhere.

use tallybook_protocol::MessageStatus::{Complete, Stopped, Streaming};

use super::*;
use crate::session::{shown::Edited, storage::Elsewhere};

fn stored(turns: &[(i64, &str)]) -> Response {
    let turns: Vec<_> = turns.iter().map(|(turn, question)| (*turn, *question, Complete)).collect();
    Response::Loaded(Ok(Some(conversation(&turns))))
}

/// Starts editing the question of this turn, and types `text`.
fn editing(page: &mut TestPage, turn: i64, text: &str) {
    let id = MessageId(turn * 10);
    page.act(Action::BeginEdit(Some(Edited {
        id,
        text: "as it was".to_owned(),
        files: Vec::new(),
        is_changed: false,
        is_from_field: false,
    })));
    page.act(Action::WriteEdit(text.to_owned()));
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
fn a_sent_message_is_removed_from_the_draft_once_it_is_stored() {
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
fn an_edited_question_is_restored_after_a_reload() {
    let mut here = TestPage::open("Q1");
    editing(&mut here, 1, "Q1, but better");
    let mut again = here.reloaded();
    again.answer(stored(&[(1, "Q1")]));
    let edited = again.state.edited.clone().unwrap();
    assert_eq!((edited.id, edited.text.as_str()), (MessageId(10), "Q1, but better"));
    assert_eq!(again.state.draft, "");
    again.act(Action::BeginEdit(None));
    assert_eq!(again.reloaded().state.edited, None, "the edit was canceled");
}

#[test]
fn the_last_question_is_edited_from_an_empty_message_field() {
    let edited = |page: &TestPage| page.state.edited.as_ref().map(|edited| (edited.id.0, edited.text.clone()));
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)]));
    here.act(Action::EditLast);
    assert_eq!(edited(&here), Some((20, "Q2".to_owned())));
    assert!(here.state.edited.as_ref().is_some_and(|edited| edited.is_from_field && !edited.is_changed));

    let mut other = TestPage::open("Q1");
    editing(&mut other, 1, "Better");
    other.act(Action::EditLast);
    assert_eq!(edited(&other), Some((10, "Better".to_owned())), "an open edit stays as it is");

    let mut written = TestPage::open("Q1");
    written.act(Action::Write(" ".to_owned()));
    written.act(Action::EditLast);
    assert_eq!(edited(&written), None, "the key moves in the text");

    let mut running = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    running.act(Action::EditLast);
    assert_eq!(edited(&running), None, "a turn runs");
    running.answer(Response::Joined(Ok(true)));
    running.send("Q2");
    running.act(Action::EditQueued(Some("id of Q2".to_owned())));
    let ChatEvent::MessageEnd(end) = end(1, "A") else { unreachable!() };
    running.events(vec![ChatEvent::MessageEnd(MessageEnd { status: Stopped, ..end })]);
    assert_eq!(running.state.phase(), Phase::Idle);
    running.act(Action::EditLast);
    assert_eq!(edited(&running), None, "a queued message is being edited");

    let mut early = TestPage::new(Place::Loading(HERE), "");
    early.act(Action::EditLast);
    assert_eq!(edited(&early), None, "the messages are not known yet");
    early.answer(stored(&[(1, "Q1")]));
    assert_eq!(edited(&early), Some((10, "Q1".to_owned())));

    let mut empty = TestPage::new(Place::NewChat, "");
    empty.act(Action::EditLast);
    assert_eq!(edited(&empty), None, "an empty conversation");
}

#[test]
fn an_edit_that_is_being_sent_is_kept_as_an_edit() {
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
fn an_edited_text_moves_to_the_message_field_when_its_question_is_no_longer_shown() {
    let branch = |here: &mut TestPage| {
        here.feed(news(FeedKind::BranchSelected));
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
    here.feed(news(FeedKind::TurnStarted));
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
    deleted.feed(news(FeedKind::ConversationDeleted));
    assert_eq!(deleted.state.draft, "Better");

    let mut unchanged = TestPage::open("Q1");
    let edited =
        Edited { id: MessageId(10), text: "Q1".to_owned(), files: Vec::new(), is_changed: false, is_from_field: false };
    unchanged.act(Action::BeginEdit(Some(edited)));
    branch(&mut unchanged);
    assert_eq!((unchanged.state.draft.as_str(), unchanged.state.edited.as_ref()), ("", None));
}

#[test]
fn the_draft_of_another_tab_is_adopted_unless_a_message_is_being_sent() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::Elsewhere(Elsewhere::Draft("Written there".to_owned())));
    assert_eq!(here.state.draft, "Written there");
    here.act(Action::SendDraft("id".to_owned()));
    here.feed(Input::Elsewhere(Elsewhere::Draft("Older".to_owned())));
    assert_eq!(here.state.unsent(), "Written there");
}

#[test]
fn an_idle_tab_adopts_the_queue_of_another_tab_and_does_not_send_it() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::Elsewhere(Elsewhere::Queue(queue_of(&["Q2"]))));
    assert_eq!(here.state.queue.messages.len(), 1);
    assert_eq!(here.state.phase(), Phase::Idle);
    here.feed(Input::Elsewhere(Elsewhere::Queue(Queue::default())));
    assert_eq!(here.state.queue.messages.len(), 0);
}

#[test]
fn the_edit_of_a_queued_message_is_restored_after_a_reload() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    here.send("Q2");
    here.act(Action::EditQueued(Some("id of Q2".to_owned())));
    here.act(Action::WriteQueued("Q2, but better".to_owned()));
    let mut again = here.reloaded();
    again.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Streaming)])))));
    assert_eq!(again.state.queue.edited_text.as_deref(), Some("Q2, but better"));
    assert_eq!(again.state.queue.edited.as_deref(), Some("id of Q2"));
    again.feed(news(FeedKind::ConversationDeleted));
    assert_eq!(again.state.draft, "Q2, but better");
}

#[test]
fn after_a_stop_the_queue_is_sent_only_with_its_own_button() {
    let ended = |turn, status| {
        let ChatEvent::MessageEnd(end) = end(turn, "A") else { unreachable!() };
        ChatEvent::MessageEnd(MessageEnd { status, ..end })
    };
    let waiting = |page: &TestPage| page.state.queue.messages.len();
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    here.send("Q2");
    here.events(vec![ended(1, Stopped)]);
    here.send("Alone");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Alone"), ended(2, Complete)]);
    assert_eq!((waiting(&here), here.state.phase()), (1, Phase::Idle), "a new message is sent without the queue");
    let mut again = here.reloaded();
    again.answer(stored(&[(1, "Q1"), (2, "Alone")]));
    assert_eq!((waiting(&again), again.state.phase()), (1, Phase::Idle), "also after a reload");
    here.act(Action::SendNow);
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q2"), ended(3, Complete)]);
    assert_eq!(waiting(&here), 0);
}

#[test]
fn a_left_conversation_still_sends_its_queue_unless_the_queue_is_held() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    assert_eq!(here.state.left_waiting(), None);
    here.send("Q2");
    assert_eq!(here.state.left_waiting(), Some(HERE));
    here.feed(Input::Leaving(true));
    assert_eq!(here.state.left_waiting(), None, "the conversation is being deleted");
    here.feed(Input::Leaving(false));
    let ChatEvent::MessageEnd(end) = end(1, "A") else { unreachable!() };
    here.events(vec![ChatEvent::MessageEnd(MessageEnd { status: Stopped, ..end })]);
    assert_eq!(here.state.left_waiting(), None, "they are held");
}
