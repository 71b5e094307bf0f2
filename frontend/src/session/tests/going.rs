//! Going to a message that is loaded, earlier, or on another branch.

use tallybook_protocol::{
    Earlier,
    MessageStatus::{Complete, Streaming},
    Window,
};

use super::*;
use crate::goal::Goal;

pub(super) fn goal(message: i64) -> Goal {
    let fragment = format!("#message-{message}");
    Goal::of_fragment(HERE, &fragment).unwrap()
}

fn with_earlier(turns: &[(i64, &str, MessageStatus)]) -> Conversation {
    Conversation { earlier: Some(Earlier { count: 8, usage: Usage::default() }), ..conversation(turns) }
}

/// Opens a conversation of which only the fifth turn is loaded.
fn far() -> TestPage {
    TestPage::opened(with_earlier(&[(5, "Q5", Complete)]))
}

impl TestPage {
    fn revealed(&self) -> Vec<i64> {
        let revealed = |effect: &Effect| match effect {
            Effect::Reveal(goal) => Some(goal.message.0),
            _ => None,
        };
        self.done.iter().filter_map(revealed).collect()
    }

    /// Responds to the last request for earlier messages. Returns the ID back to which they were requested.
    fn load(&mut self, page: Result<Option<Conversation>, ApiError>) -> Option<MessageId> {
        let last = self.done.iter().rev().find_map(|effect| match effect {
            Effect::LoadEarlier(ticket, _, first, from) => Some((*ticket, *first, *from)),
            _ => None,
        });
        let (ticket, first, from) = last.unwrap();
        self.feed(Input::Earlier(ticket, first, Box::new(page)));
        self.draw_all();
        from
    }
}

#[test]
fn a_loaded_message_is_shown_at_once() {
    let mut here = TestPage::open("Q1");
    here.act(Action::GoTo(goal(11)));
    assert_eq!((here.revealed(), here.state.link.as_ref()), (vec![11], None));
    let elsewhere = Goal { conversation: Uuid::from_u128(8), ..goal(11) };
    here.act(Action::GoTo(elsewhere));
    assert_eq!((here.revealed(), here.state.link.as_ref()), (vec![11], None), "the goal is in another conversation");
}

#[test]
fn an_earlier_message_is_loaded_with_all_messages_after_it() {
    let mut here = far();
    here.act(Action::GoTo(goal(31)));
    assert!(here.revealed().is_empty());
    let page = with_earlier(&[(3, "Q3", Complete), (4, "Q4", Complete)]);
    assert_eq!(here.load(Ok(Some(page))), Some(MessageId(31)));
    assert_eq!((here.revealed(), here.state.notice.as_ref()), (vec![31], None));
    assert_eq!(here.texts(), ["Q3", "A3", "Q4", "A4", "Q5", "A5"]);
}

#[test]
fn earlier_messages_that_are_already_being_loaded_come_first() {
    let mut here = far();
    here.act(Action::LoadEarlier);
    here.act(Action::GoTo(goal(21)));
    assert_eq!(here.load(Ok(Some(with_earlier(&[(4, "Q4", Complete)])))), None);
    assert!(here.revealed().is_empty());
    assert_eq!(here.load(Ok(Some(conversation(&[(2, "Q2", Complete), (3, "Q3", Complete)])))), Some(MessageId(21)));
    assert_eq!(here.revealed(), [21]);
}

#[test]
fn a_message_is_shown_once_its_conversation_has_loaded() {
    let mut here = TestPage::new(Place::Loading(HERE), "");
    here.act(Action::GoTo(goal(11)));
    assert!(here.revealed().is_empty());
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)])))));
    assert_eq!(here.revealed(), [11]);
}

#[test]
fn a_message_on_another_branch_is_shown() {
    let mut here = TestPage::open("Q1");
    here.act(Action::GoTo(goal(21)));
    let window = Window { limit: Some(50), from: Some(MessageId(21)), before: None };
    assert_eq!(here.waits_for().1, Request::Select(HERE, MessageId(21), window));
    here.answer(Response::Selected(Ok(conversation(&[(2, "Q2", Complete)]))));
    assert_eq!(here.revealed(), [21]);
    assert!(!here.done.iter().any(|effect| matches!(effect, Effect::FocusVersion(..))));
}

#[test]
fn a_message_that_cannot_be_shown_is_reported() {
    for (refusal, words) in [
        (refused(404), Language::English.message_not_found()),
        (refused(409), Language::English.message_in_other_version()),
        (ApiError::Unreachable, Language::English.unreachable()),
    ] {
        let mut here = far();
        here.act(Action::GoTo(goal(999)));
        here.load(Ok(Some(conversation(&[(4, "Q4", Complete)]))));
        here.answer(Response::Selected(Err(refusal)));
        assert_eq!((here.state.notice.as_deref(), here.state.link.as_ref()), (Some(words), None));
        assert!(here.revealed().is_empty());
        here.act(Action::GoTo(goal(51)));
        assert_eq!((here.state.notice.as_ref(), here.revealed()), (None, vec![51]));
    }
}

#[test]
fn a_failed_load_of_earlier_messages_ends_the_search() {
    let mut here = far();
    here.act(Action::GoTo(goal(31)));
    here.load(Err(ApiError::Unreachable));
    assert_eq!((here.state.notice.is_some(), here.state.link.as_ref()), (true, None));
}

#[test]
fn a_message_on_another_branch_is_not_shown_while_an_answer_is_written() {
    let mut here = TestPage::opened(conversation(&[(1, "Q1", Streaming)]));
    here.answer(Response::Joined(Ok(true)));
    here.act(Action::GoTo(goal(21)));
    assert_eq!(here.state.notice.as_deref(), Some(Language::English.message_in_other_version()));
    assert_eq!((here.state.link.as_ref(), here.state.phase()), (None, Phase::Following));
}
