//! Single actions and inputs, and their effects.

use tallybook_protocol::{
    Feedback,
    MessageStatus::{Complete, Streaming},
    Rating, Window,
};

use super::{super::input::Creation, *};

#[test]
fn a_message_sent_while_a_conversation_loads_is_delivered_after_the_load() {
    let mut here = TestPage::new(Place::Loading(HERE), "");
    assert!(matches!(here.waits_for().1, Request::Load(HERE, Window { limit: Some(50), .. })));
    here.send("For here");
    assert_eq!(here.state.phase(), Phase::Sending);
    assert_eq!(
        here.state.unstored.as_ref().map(|message| message.content.as_str()),
        Some("For here"),
        "it is shown at once"
    );
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)])))));
    let (_, Request::Send(HERE, message)) = here.waits_for() else { panic!("{:?}", here.waits_for()) };
    assert_eq!(message.content, "For here");
}

#[test]
fn a_message_sent_while_a_conversation_loads_returns_to_its_field_if_a_turn_runs() {
    let mut here = TestPage::new(Place::Loading(HERE), "");
    here.send("For here");
    here.act(Action::Write("and more".to_owned()));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Streaming)])))));
    assert_eq!(here.state.draft, "For here\nand more");
    assert_eq!((here.state.unstored.as_ref(), here.state.notice.is_some()), (None, true));
    assert!(matches!(here.waits_for().1, Request::Join(HERE, None)));
}

#[test]
fn a_failed_load_is_retried_after_a_pause_and_at_once_when_the_network_is_back() {
    let mut here = TestPage::new(Place::Loading(HERE), "A draft");
    here.answer(Response::Loaded(Err(ApiError::Unreachable)));
    assert!(matches!(here.state.place, Place::Failed(HERE, _)));
    here.answer(Response::Tick);
    assert!(matches!(here.waits_for().1, Request::Load(..)), "after a pause");
    here.answer(Response::Loaded(Err(ApiError::Unreachable)));
    here.feed(Input::Online);
    assert!(matches!(here.waits_for().1, Request::Load(..)), "without a pause");
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)])))));
    assert_eq!((&here.state.place, here.texts()), (&Place::Open(HERE), vec!["Q1", "A1"]));
    assert_eq!(here.state.draft, "A draft");
}

#[test]
fn a_conversation_opens_with_its_newest_messages_and_those_before_them_follow() {
    let stored = conversation(&[(1, "Q1", Complete), (2, "Q2", Complete), (3, "Q3", Complete)]);
    let mut here = TestPage::opened(stored.clone());
    assert_eq!((here.texts(), here.state.transcript.has_earlier()), (vec!["Q3", "A3"], true));
    here.draw_all();
    assert_eq!(here.texts(), ["Q1", "A1", "Q2", "A2", "Q3", "A3"]);
    assert!(!here.state.transcript.has_earlier());
    let drawn_by_server = State::new(Place::Open(HERE), Some(stored), String::new(), Language::English);
    assert_eq!(drawn_by_server.transcript.entries().len(), 6, "the server renders all messages at once");
}

#[test]
fn a_stop_is_requested_as_soon_as_the_turn_runs() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.act(Action::Stop);
    assert!(here.state.is_stopping());
    assert_eq!(here.stops(), 0, "there is nothing to stop yet");
    here.answer(Response::Started(Ok(())));
    assert_eq!(here.stops(), 1);
    here.events(vec![start(2, "Q2"), delta("A")]);
    assert!(here.state.is_stopping(), "until the turn's end arrives");
    here.events(vec![end(2, "A")]);
    assert_eq!((here.state.phase(), here.state.is_stopping()), (Phase::Idle, false));
}

#[test]
fn a_stop_while_a_conversation_is_being_created_stops_its_first_turn() {
    let mut here = TestPage::new(Place::NewChat, "");
    here.send("Q1");
    assert!(matches!(here.waits_for().1, Request::Create(_)));
    here.act(Action::Stop);
    assert_eq!(here.stops(), 0, "there is nothing to stop yet");
    here.answer(Response::Created(Ok(Creation::Accepted(HERE))));
    assert_eq!(here.stops(), 1);
    assert!(here.done.contains(&Effect::ReportCreated(HERE)));
}

#[test]
fn a_stop_before_the_first_message_is_sent_returns_it_to_its_field() {
    let mut here = TestPage::new(Place::NewChat, "");
    here.send("Q1");
    here.act(Action::Stop);
    here.answer(Response::Created(Ok(Creation::Stopped)));
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("Q1", Phase::Idle));
    assert!(here.state.place == Place::NewChat && !here.done.contains(&Effect::ReportCreated(HERE)));
}

#[test]
fn a_refused_first_message_returns_to_the_field_of_the_new_chat() {
    let mut here = TestPage::new(Place::NewChat, "");
    here.send("Q1");
    here.answer(Response::Created(Err(refused(400))));
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("Q1", Phase::Idle));
    assert!(here.state.place == Place::NewChat && here.state.notice.is_some());
    assert!(!here.done.contains(&Effect::ReportCreated(HERE)));
}

#[test]
fn a_first_message_without_a_response_is_sent_again() {
    let mut here = TestPage::new(Place::NewChat, "");
    here.send("Q1");
    here.answer(Response::Created(Ok(Creation::Unknown(HERE))));
    assert!(here.done.contains(&Effect::ReportCreated(HERE)));
    assert!(matches!(here.waits_for().1, Request::Send(uuid, message) if uuid == HERE && message.content == "Q1"));
}

#[test]
fn stop_can_be_pressed_again_after_a_late_or_failed_request() {
    for (outcome, says) in [(refused(409), false), (ApiError::Unreachable, true)] {
        let mut here = TestPage::open("Q1");
        here.send("Q2");
        here.answer(Response::Started(Ok(())));
        here.act(Action::Stop);
        let ticket = here.stop_ticket();
        here.feed(Input::Stopped(ticket, Err(outcome)));
        assert_eq!((here.state.is_stopping(), here.state.notice.is_some()), (false, says));
        here.act(Action::Stop);
        here.feed(Input::Stopped(ticket, Err(ApiError::Unreachable)));
        assert!(here.state.is_stopping(), "the result of the first request does not concern the second");
    }
}

#[test]
fn a_failed_stop_is_reported_until_stop_is_pressed_again_or_the_answer_ends() {
    let failed = |here: &TestPage| here.state.notice.as_deref() == Some(Language::English.stop_failed());
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.act(Action::Stop);
    here.feed(Input::Stopped(here.stop_ticket(), Err(ApiError::Unreachable)));
    assert!(failed(&here));
    here.act(Action::Stop);
    assert!(!failed(&here));
    here.feed(Input::Stopped(here.stop_ticket(), Err(ApiError::Unreachable)));
    assert!(failed(&here));
    here.events(vec![start(2, "Q2"), end(2, "A")]);
    assert_eq!((here.state.phase(), here.state.notice.clone()), (Phase::Idle, None));
}

#[test]
fn a_late_response_does_not_replace_newer_messages() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::News(News::Missed));
    let (stale, Request::Load(..)) = here.waits_for() else { panic!("the conversation is not loaded") };
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), delta("A"), end(2, "A2")]);
    here.feed(Input::Response(stale, Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)]))))));
    assert_eq!(here.texts(), ["Q1", "A1", "Q2", "A2"]);
    assert!(matches!(here.waits_for().1, Request::Load(..)), "the aborted load is repeated");
}

#[test]
fn a_turn_is_read_over_one_connection_at_a_time() {
    let mut here = TestPage::open("Q1");
    here.feed(news(FeedKind::TurnStarted));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    let (first, Request::Join(..)) = here.waits_for() else { panic!("the turn is not joined") };
    here.feed(Input::Response(first, Response::Joined(Ok(true))));
    let before = here.done.len();
    here.feed(news(FeedKind::TurnStarted));
    here.feed(Input::News(News::Missed));
    here.feed(Input::Hidden(false));
    assert!(
        here.done[before..].iter().all(|effect| !matches!(effect, Effect::Perform(..))),
        "the turn is already being read"
    );
    here.feed(Input::Hidden(true));
    here.feed(Input::Response(first, Response::Events(vec![(None, delta("late"))])));
    assert_eq!(here.texts(), ["Q1", "A1", "Q2", "A2"], "events of an aborted request are ignored");
}

#[test]
fn a_turn_without_a_stream_is_polled_until_it_ends() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.answer(Response::Crowded);
    assert_eq!((here.waits_for().1, here.state.phase()), (Request::CrowdedPause, Phase::Sending));
    here.answer(Response::Tick);
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    assert_eq!((here.texts(), here.state.unstored.as_ref()), (vec!["Q1", "A1", "Q2", "A2"], None));
    assert!(matches!(here.waits_for().1, Request::Join(HERE, None)), "a stream may be free by now");
    here.answer(Response::Crowded);
    assert_eq!((here.waits_for().1, here.state.phase()), (Request::CrowdedPause, Phase::Following));
    here.act(Action::Stop);
    assert_eq!(here.stops(), 1, "a request needs no stream");
    here.feed(news(FeedKind::TurnEnded));
    assert!(matches!(here.waits_for().1, Request::Load(HERE, _)), "the end shows at once");
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    assert_eq!((here.state.phase(), here.state.is_stopping()), (Phase::Idle, false));
}

#[test]
fn after_missed_news_the_newest_messages_are_loaded_and_all_if_the_branch_changed() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::News(News::Missed));
    let few = Window { limit: Some(2), from: Some(MessageId(11)), before: None };
    assert_eq!(here.waits_for().1, Request::Load(HERE, few));
    // Another branch is shown by now. It has none of the loaded messages.
    let mut other = conversation(&[(5, "Q5", Complete)]);
    other.earlier = Some(tallybook_protocol::Earlier { count: 2, usage: Usage::default() });
    here.answer(Response::Loaded(Ok(Some(other))));
    let Request::Load(HERE, window) = here.waits_for().1 else { panic!("the shown messages are not loaded again") };
    assert_eq!((window.limit, window.from), (Some(50), Some(MessageId(10))));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(4, "Q4", Complete), (5, "Q5", Complete)])))));
    assert_eq!(here.texts(), ["Q4", "A4", "Q5", "A5"]);
}

#[test]
fn news_missed_while_an_answer_is_written_load_only_the_newest_messages_at_its_end() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2"), delta("A")]);
    here.feed(Input::News(News::Missed));
    here.events(vec![end(2, "A2")]);
    let few = Window { limit: Some(2), from: Some(MessageId(21)), before: None };
    assert_eq!(here.waits_for().1, Request::Load(HERE, few));
}

#[test]
fn a_branch_selected_elsewhere_loads_all_shown_messages_again() {
    let open = conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)]);
    let mut here = TestPage::opened(open);
    here.draw_all();
    here.feed(news(FeedKind::BranchSelected));
    let (_, Request::Load(_, window)) = here.waits_for() else { panic!("the conversation is not loaded") };
    assert_eq!(window.from, Some(MessageId(10)), "from the first loaded message");
}

/// A response is limited in bytes, so it may begin after the requested message.
#[test]
fn messages_that_a_response_had_no_room_for_can_be_loaded() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::News(News::Missed));
    let mut cut = conversation(&[(5, "Q5", Complete)]);
    cut.earlier = Some(tallybook_protocol::Earlier { count: 2, usage: Usage::default() });
    here.answer(Response::Loaded(Ok(Some(cut.clone()))));
    assert_eq!(
        here.waits_for().1,
        Request::Load(HERE, Window { limit: Some(50), from: Some(MessageId(10)), before: None })
    );
    here.answer(Response::Loaded(Ok(Some(cut))));
    assert_eq!(here.texts(), ["Q5", "A5"]);
    here.act(Action::LoadEarlier);
    let Some(&Effect::LoadEarlier(ticket, HERE, MessageId(50), _)) = here.done.last() else {
        panic!("{:?}", here.done)
    };
    let page = conversation(&[(1, "Q1", Complete)]);
    here.feed(Input::Earlier(ticket, MessageId(50), Box::new(Ok(Some(page)))));
    assert_eq!(here.texts(), ["Q1", "A1", "Q5", "A5"]);
}

#[test]
fn a_failed_message_returns_to_its_field_and_keeps_its_id() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.act(Action::Write("Q3".to_owned()));
    here.answer(Response::Started(Err(ApiError::Unreachable)));
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("Q2\nQ3", Phase::Idle));
    assert!(here.state.notice.is_some());
    // The page loads the conversation, because the message may have been stored all the same.
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete)])))));
    assert_eq!(here.state.draft, "Q2\nQ3");
    here.act(Action::Write("Q2".to_owned()));
    here.act(Action::SendDraft("another".to_owned()));
    let (_, Request::Send(_, message)) = here.waits_for() else { panic!("it is not sent") };
    assert_eq!(message.client_message_id.as_deref(), Some("id of Q2"));
}

#[test]
fn a_failed_message_that_was_stored_is_removed_from_its_field() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Err(ApiError::Unreachable)));
    here.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Streaming)])))));
    assert_eq!((here.state.draft.as_str(), here.state.notice.as_ref()), ("", None));
    assert_eq!(here.state.phase(), Phase::Following);
}

#[test]
fn an_unreachable_server_is_reported_until_it_can_be_reached_again() {
    for back in [Input::Online, Input::News(News::Missed)] {
        let mut here = TestPage::open("Q1");
        here.send("Q2");
        here.answer(Response::Started(Err(ApiError::Unreachable)));
        assert_eq!(here.state.notice.as_deref(), Some(Language::English.unreachable()));
        here.answer(Response::Loaded(Err(ApiError::Unreachable)));
        here.feed(back);
        assert_eq!((here.state.notice.as_ref(), here.state.draft.as_str()), (None, "Q2"));
    }
}

#[test]
fn a_conversation_that_is_being_deleted_accepts_no_messages_and_keeps_its_draft() {
    let mut here = TestPage::open("Q1");
    here.feed(Input::Leaving(true));
    here.send("Too late?");
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("Too late?", Phase::Idle));
    here.act(Action::Regenerate(MessageId(11)));
    here.act(Action::Continue(None));
    assert_eq!((here.state.phase(), here.texts()), (Phase::Idle, vec!["Q1", "A1"]));
    here.feed(Input::Leaving(false));
    here.act(Action::SendDraft("id".to_owned()));
    assert_eq!(here.state.phase(), Phase::Sending, "after an undo, it accepts messages again");
}

#[test]
fn the_draft_of_a_deleted_conversation_moves_to_a_new_chat() {
    for by_us in [true, false] {
        let mut here = TestPage::open("Q1");
        here.act(Action::Write("Half a thought".to_owned()));
        here.feed(Input::Leaving(by_us));
        here.feed(news(FeedKind::ConversationDeleted));
        assert_eq!(here.state.place, Place::Deleted);
        assert!(here.done.contains(&Effect::AdoptDraft));
        assert_eq!(here.done.contains(&Effect::OpenNewChat), by_us, "a new chat opens only if this page deleted it");
        here.feed(Input::Adopted("Begun before".to_owned(), Vec::new()));
        assert_eq!((here.state.uuid(), here.state.unsent()), (None, "Begun before\nHalf a thought".to_owned()));
        assert_eq!(here.texts(), ["Q1", "A1"]);
        let done = here.done.len();
        here.act(Action::SendDraft("id".to_owned()));
        here.act(Action::Regenerate(MessageId(11)));
        here.feed(Input::Online);
        here.feed(Input::News(News::Missed));
        assert_eq!(here.done.len(), done, "a deleted conversation causes no requests");
    }
}

#[test]
fn a_message_sent_while_another_version_is_being_selected_is_placed_below_that_version() {
    let mut here = TestPage::open("Q1");
    here.act(Action::Step(MessageId(11), vec![MessageId(11), MessageId(21)], super::super::shown::Step::Newer));
    here.send("Below which?");
    assert!(matches!(here.waits_for().1, Request::Select(..)), "the message waits");
    here.answer(Response::Selected(Ok(conversation(&[(2, "Q1", Complete)]))));
    assert!(matches!(here.waits_for().1, Request::Send(..)));
}

#[test]
fn retry_and_a_restored_network_end_the_pause() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2")]);
    for again in [Input::User(Action::Retry), Input::Online] {
        if here.state.connection == Connection::Joining {
            here.answer(Response::Joined(Ok(true)));
        }
        here.answer(Response::Interrupted);
        assert!(matches!(here.state.phase(), Phase::Reconnecting(_)));
        here.feed(again);
        assert!(matches!(here.waits_for().1, Request::Join(HERE, Some(_))));
    }
}

#[test]
fn a_message_is_kept_as_unsent_until_it_is_stored() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.act(Action::Write("and more".to_owned()));
    assert_eq!(here.state.unsent(), "Q2\nand more");
    let mut again = here.reloaded();
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2")]);
    assert_eq!(here.state.unsent(), "and more");
    again.answer(Response::Loaded(Ok(Some(conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)])))));
    assert_eq!(again.state.draft, "and more", "a stored message is removed from the draft");
}

#[test]
fn feedback_that_cannot_be_stored_is_taken_back_with_a_notice() {
    let mut here = TestPage::open("Q1");
    let given = |here: &TestPage| here.state.transcript.find(MessageId(11)).unwrap().feedback.clone();
    let up = Some(Feedback { rating: Rating::Up, reason: None });
    assert!(here.feed(Input::Rated(MessageId(11), up.clone(), None)).contains(&Effect::Draw));
    assert_eq!((given(&here), here.state.notice.as_ref()), (up.clone(), None));
    here.feed(Input::Rated(MessageId(11), None, Some(refused(500))));
    assert_eq!((given(&here), here.state.notice.is_some()), (None, true));
    here.feed(Input::Rated(MessageId(11), up.clone(), None));
    assert_eq!((given(&here), here.state.notice.as_ref()), (up, None));
    here.feed(Input::Rated(MessageId(99), None, None));
}
