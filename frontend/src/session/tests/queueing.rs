//! Messages that are sent while an answer is being written.

use tallybook_protocol::{
    MessageStatus::{AwaitingApproval, Complete, Stopped, Streaming},
    Plan,
};

use super::*;
use crate::session::queue::{Due, MAX_QUEUED};

/// A conversation whose second answer is being written.
fn busy() -> TestPage {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2")]);
    here
}

fn waiting(page: &TestPage) -> Vec<&str> {
    page.state.queue.messages.iter().map(|queued| queued.text.as_str()).collect()
}

fn sent(page: &TestPage) -> Option<UnsentMessage> {
    match page.waits_for().1 {
        Request::Send(HERE, message) => Some(message),
        _ => None,
    }
}

fn ended(turn: i64, status: MessageStatus) -> ChatEvent {
    let ChatEvent::MessageEnd(end) = end(turn, "A") else { unreachable!() };
    ChatEvent::MessageEnd(MessageEnd { status, ..end })
}

#[test]
fn queued_messages_are_sent_one_by_one_after_the_answer_ends() {
    let mut here = busy();
    here.send("Q3");
    here.send("Q4");
    assert_eq!((waiting(&here), here.state.draft.as_str()), (vec!["Q3", "Q4"], ""));
    here.events(vec![end(2, "A2")]);
    let message = sent(&here).unwrap();
    assert_eq!((message.content.as_str(), message.client_message_id.as_deref()), ("Q3", Some("id of Q3")));
    assert_eq!(here.state.phase(), Phase::Sending);
    assert_eq!(here.state.unsent(), "", "it is kept in the queue only");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q3"), end(3, "A3")]);
    assert_eq!(sent(&here).unwrap().content, "Q4");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(4, "Q4"), end(4, "A4")]);
    assert_eq!((waiting(&here), here.state.phase()), (Vec::new(), Phase::Idle));
    assert_eq!(here.texts(), ["Q1", "A1", "Q2", "A2", "Q3", "A3", "Q4", "A4"]);
}

#[test]
fn after_a_stopped_answer_the_queue_waits_for_the_user() {
    let mut here = busy();
    here.send("Q3");
    here.send("Q4");
    here.events(vec![ended(2, Stopped)]);
    assert_eq!((waiting(&here), here.state.phase()), (vec!["Q3", "Q4"], Phase::Idle));
    here.act(Action::SendNow);
    assert_eq!(sent(&here).unwrap().content, "Q3");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q3"), end(3, "A3")]);
    assert_eq!(sent(&here).unwrap().content, "Q4", "the next message is sent automatically");
}

#[test]
fn a_queued_message_that_could_not_be_sent_stays_first_and_keeps_its_id() {
    for error in [refused(500), ApiError::Unreachable] {
        let mut here = busy();
        here.send("Q3");
        here.send("Q4");
        here.events(vec![end(2, "A2")]);
        here.answer(Response::Started(Err(error)));
        here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
        assert_eq!((waiting(&here), here.state.phase()), (vec!["Q3", "Q4"], Phase::Idle));
        assert!(here.state.notice.is_some());
        here.act(Action::SendNow);
        assert_eq!(sent(&here).unwrap().client_message_id.as_deref(), Some("id of Q3"));
    }
}

#[test]
fn if_another_tab_sent_first_the_queue_waits_for_the_end_of_that_answer() {
    let mut here = busy();
    here.send("Q3");
    here.events(vec![end(2, "A2")]);
    here.answer(Response::Started(Err(refused(409))));
    assert_eq!((waiting(&here), here.state.notice.as_ref()), (vec!["Q3"], None));
    let other = [(1, "Q1", Complete), (2, "Q2", Complete), (5, "Other", Streaming)];
    here.answer(Response::Loaded(Ok(Some(conversation(&other)))));
    here.answer(Response::Joined(Ok(true)));
    here.events(vec![end(5, "A5")]);
    assert_eq!(sent(&here).unwrap().content, "Q3");
}

#[test]
fn a_queued_message_that_was_stored_without_a_response_is_not_sent_again() {
    let mut here = busy();
    here.send("Q3");
    here.events(vec![end(2, "A2")]);
    here.answer(Response::Started(Err(ApiError::Unreachable)));
    let stored = [(1, "Q1", Complete), (2, "Q2", Complete), (3, "Q3", Complete)];
    here.answer(Response::Loaded(Ok(Some(conversation(&stored)))));
    assert_eq!((waiting(&here), here.state.notice.as_ref()), (Vec::new(), None));
    assert_eq!(here.state.draft, "");
}

#[test]
fn the_queue_is_restored_after_a_reload() {
    let mut here = busy();
    here.send("Q3");
    here.send("Q4");
    let kept = here.state.queue.to_text();
    let mut again = TestPage::new(Place::Loading(HERE), "");
    again.state.restore_queue(Queue::from_text(&kept));
    again.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    again.answer(Response::Joined(Ok(true)));
    again.events(vec![end(2, "A2")]);
    assert_eq!(sent(&again).unwrap().client_message_id.as_deref(), Some("id of Q3"), "the running turn is followed");

    // The page is reloaded while the first message is being sent, and the message arrives.
    let kept = again.state.queue.to_text();
    let mut later = TestPage::new(Place::Loading(HERE), "");
    later.state.restore_queue(Queue::from_text(&kept));
    let stored = [(1, "Q1", Complete), (2, "Q2", Complete), (3, "Q3", Complete)];
    later.answer(Response::Loaded(Ok(Some(conversation(&stored)))));
    assert_eq!(waiting(&later), ["Q4"]);

    let mut idle = TestPage::new(Place::Loading(HERE), "");
    idle.state.restore_queue(Queue::from_text(&kept));
    idle.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    assert_eq!(
        (waiting(&idle), idle.state.phase()),
        (vec!["Q3", "Q4"], Phase::Idle),
        "no turn runs, so the queue waits"
    );
    assert_eq!(Queue::from_text("no JSON"), Queue::default());
}

#[test]
fn queued_messages_can_be_edited_and_removed_and_their_number_is_limited() {
    let mut here = busy();
    for number in 0..=MAX_QUEUED {
        here.send(&format!("M{number}"));
    }
    assert_eq!(waiting(&here).len(), MAX_QUEUED);
    assert_eq!(here.state.draft, format!("M{MAX_QUEUED}"), "a message that exceeds the limit stays in the field");
    assert!(here.state.notice.is_some());
    here.act(Action::Unqueue("id of M1".to_owned()));
    assert_eq!(waiting(&here)[..2], ["M0", "M2"]);
    here.act(Action::EditQueued(Some("id of M0".to_owned())));
    here.events(vec![end(2, "A2")]);
    assert_eq!(here.state.phase(), Phase::Idle, "neither the edited message nor those behind it are sent");
    here.act(Action::ChangeQueued(" Better \n".to_owned(), "another".to_owned()));
    assert_eq!(sent(&here).unwrap().content, "Better");
    here.act(Action::Unqueue("another".to_owned()));
    assert_eq!(waiting(&here)[0], "Better", "a message that is being sent cannot be removed");
}

#[test]
fn the_queue_of_a_deleted_conversation_moves_to_its_draft() {
    let mut here = busy();
    here.send("Q3");
    here.act(Action::Write("Half a thought".to_owned()));
    here.feed(news(FeedKind::ConversationDeleted));
    assert_eq!((waiting(&here), here.state.draft.as_str()), (Vec::new(), "Q3\nHalf a thought"));
}

#[test]
fn a_hidden_tab_polls_for_the_end_of_the_answer_and_sends_the_queue() {
    let mut here = busy();
    here.send("Q3");
    here.feed(Input::Hidden(true));
    assert_eq!((here.waits_for().1, here.state.phase()), (Request::HiddenPause, Phase::Hidden));
    here.answer(Response::Tick);
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)));
    assert_eq!(here.state.phase(), Phase::Hidden);
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    assert_eq!(here.waits_for().1, Request::HiddenPause, "it still runs");
    here.answer(Response::Tick);
    here.answer(Response::Loaded(Err(ApiError::Unreachable)));
    assert_eq!(here.waits_for().1, Request::HiddenPause);
    here.answer(Response::Tick);
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    assert_eq!(sent(&here).unwrap().content, "Q3");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q3")]);
    assert_eq!(here.waits_for().1, Request::HiddenPause, "a hidden tab holds no stream");
    here.feed(Input::Hidden(false));
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)));
}

#[test]
fn a_model_chosen_for_the_next_message_applies_to_that_message_only() {
    let mut here = busy();
    here.act(Action::ChooseNext(Some("GPT".to_owned())));
    here.send("Q3");
    assert_eq!(here.state.next_model, None, "the queued message has it");
    here.send("Q4");
    here.events(vec![end(2, "A2")]);
    assert_eq!(sent(&here).unwrap().model.as_deref(), Some("GPT"));
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(3, "Q3"), end(3, "A3")]);
    assert_eq!(sent(&here).unwrap().model, None);
}

#[test]
fn the_model_of_a_message_that_could_not_be_sent_is_chosen_again() {
    let mut here = TestPage::open("Q1");
    here.act(Action::ChooseNext(Some("GPT".to_owned())));
    here.send("Q2");
    assert_eq!(sent(&here).unwrap().model.as_deref(), Some("GPT"));
    here.answer(Response::Started(Err(ApiError::Unreachable)));
    assert_eq!(here.state.next_model.as_deref(), Some("GPT"));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)])))));
    here.act(Action::ChooseNext(None));
    here.act(Action::SendDraft("another id".to_owned()));
    let again = sent(&here).unwrap();
    assert_eq!((again.model, again.client_message_id.as_deref()), (None, Some("id of Q2")), "it is the same message");
}

#[test]
fn a_queued_message_keeps_its_mode_and_an_edited_planned_question_is_planned_again() {
    let mut here = busy();
    here.act(Action::PlanFirst(true));
    here.send("Q3");
    here.send("Q4");
    let kept = Queue::from_text(&here.state.queue.to_text());
    let modes: Vec<AnswerMode> = kept.messages.iter().map(|queued| queued.mode).collect();
    assert_eq!(modes, [AnswerMode::Plan, AnswerMode::React]);
    here.events(vec![end(2, "A2")]);
    let message = sent(&here).unwrap();
    assert_eq!((message.content.as_str(), message.mode), ("Q3", AnswerMode::Plan));
    here.answer(Response::Started(Ok(())));
    let ChatEvent::MessageEnd(stopped) = ended(3, Stopped) else { unreachable!() };
    let stopped = MessageEnd { plan: Some(Plan::default()), ..stopped };
    here.events(vec![start(3, "Q3"), ChatEvent::MessageEnd(stopped)]);
    here.act(Action::Unqueue("id of Q4".to_owned()));
    let question = here.state.transcript.last_asked().unwrap().id;
    here.act(Action::Edit(question, "Q3, but better".to_owned(), "another".to_owned()));
    assert_eq!(sent(&here).unwrap().mode, AnswerMode::Plan);
}

#[test]
fn only_the_next_message_is_planned() {
    let mut here = TestPage::open("Q1");
    here.act(Action::PlanFirst(true));
    here.send("Q2");
    assert_eq!((sent(&here).unwrap().mode, here.state.plans_first), (AnswerMode::Plan, false));
    here.answer(Response::Started(Err(ApiError::Unreachable)));
    assert!(here.state.plans_first, "a message that returned to its field is still planned");
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    assert!(!here.state.plans_first, "it was stored after all");
    here.answer(Response::Joined(Ok(true)));
    here.events(vec![end(2, "A2")]);
    here.send("Thanks");
    assert_eq!(sent(&here).unwrap().mode, AnswerMode::React);
}

#[test]
fn the_queue_of_a_conversation_that_is_not_open_is_sent_only_after_a_complete_answer() {
    let queue = queue_of(&["Q2", "Q3"]);
    let at = |status| conversation(&[(1, "Q1", status)]);
    let Due::Send(message) = queue.due(&at(Complete)) else { panic!("it is not sent") };
    assert_eq!((message.content.as_str(), message.client_message_id.as_deref()), ("Q2", Some("id of Q2")));
    let on_its_way = Queue { is_sending: true, ..queue.clone() };
    assert_eq!(on_its_way.due(&at(Complete)), Due::Send(message), "it is the same message if it is sent again");
    assert_eq!(queue.due(&at(Streaming)), Due::Wait);
    assert_eq!(queue.due(&at(AwaitingApproval)), Due::Wait);
    assert_eq!(queue.due(&at(Stopped)), Due::Hold);
    let held = Queue { is_held: true, ..queue.clone() };
    let changed = Queue { edited: Some("id of Q2".to_owned()), ..queue };
    for queue in [held, changed, Queue::default()] {
        assert_eq!(queue.due(&at(Complete)), Due::End);
    }
}
