//! Tests of a search, one input at a time.

use chrono::DateTime;
use tallybook_protocol::{MessageId, Role, SearchHit, SearchPage};
use uuid::Uuid;

use super::{PAGES_ON_ITS_OWN, Search, SearchEffect, SearchInput, Stage};
use crate::api::ApiError;

#[expect(clippy::unnecessary_wraps, reason = "requests return a result")]
fn page(ids: &[i64], cursor: Option<&str>, complete: bool) -> Result<SearchPage, ApiError> {
    let hit = |id: &i64| SearchHit {
        conversation_uuid: Uuid::nil(),
        title: "Sums".to_owned(),
        message_id: Some(MessageId(*id)),
        role: Some(Role::User),
        tool_call_id: None,
        tool_name: None,
        shown: true,
        snippet: Vec::new(),
        created_at: DateTime::UNIX_EPOCH,
    };
    Ok(SearchPage { items: ids.iter().map(hit).collect(), next_cursor: cursor.map(str::to_owned), complete })
}

fn typed(search: &mut Search, text: &str) -> u32 {
    match search.take(SearchInput::Typed(text.to_owned())) {
        Some(SearchEffect::Pause(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

/// Types a text and pauses. Returns the ticket of the request.
fn asked(search: &mut Search, text: &str) -> u32 {
    let pause = typed(search, text);
    match search.take(SearchInput::Paused(pause)) {
        Some(SearchEffect::Ask(ticket, query, None)) if query == text => ticket,
        other => panic!("{other:?}"),
    }
}

fn ids(search: &Search) -> Vec<i64> {
    search.hits().iter().filter_map(|hit| Some(hit.message_id?.0)).collect()
}

#[test]
fn only_the_last_typed_text_is_searched_for() {
    let mut search = Search::default();
    let first = typed(&mut search, "t");
    let second = typed(&mut search, "ta ");
    assert_eq!(search.take(SearchInput::Paused(first)), None);
    assert_eq!(search.take(SearchInput::Typed(" ta".to_owned())), None, "the query is the same");
    assert!(
        matches!(search.take(SearchInput::Paused(second)), Some(SearchEffect::Ask(_, query, None)) if query == "ta")
    );
}

#[test]
fn a_late_response_is_ignored_and_matches_stay_until_the_next_response() {
    let mut search = Search::default();
    let first = asked(&mut search, "tax");
    assert_eq!(search.take(SearchInput::Found(first, page(&[1], None, true))), None);
    assert_eq!((ids(&search), search.answered(), search.stage()), (vec![1], "tax", &Stage::Done));
    let late = asked(&mut search, "taxi");
    let last = asked(&mut search, "taxis");
    search.take(SearchInput::Found(late, page(&[2], None, true)));
    assert_eq!((ids(&search), search.answered()), (vec![1], "tax"));
    search.take(SearchInput::Found(last, page(&[], None, true)));
    assert_eq!((ids(&search), search.answered()), (vec![], "taxis"));
    assert_eq!(search.take(SearchInput::Typed(String::new())), Some(SearchEffect::LetGo));
    assert_eq!((search.stage(), search.hits().len()), (&Stage::Off, 0));
    search.take(SearchInput::Found(last, page(&[3], None, true)));
    assert!(search.hits().is_empty());
}

#[test]
fn further_pages_are_added_when_the_user_asks_for_them() {
    let mut search = Search::default();
    let first = asked(&mut search, "tax");
    assert_eq!(search.take(SearchInput::Found(first, page(&[1, 2], Some("2"), true))), None);
    assert_eq!(search.stage(), &Stage::More);
    let Some(SearchEffect::Ask(more, _, Some(cursor))) = search.take(SearchInput::More) else { panic!("{search:?}") };
    assert_eq!(cursor, "2");
    assert_eq!(search.take(SearchInput::More), None, "one at a time");
    search.take(SearchInput::Found(more, Err(ApiError::Unreachable)));
    assert_eq!((ids(&search), search.stage()), (vec![1, 2], &Stage::Failed(ApiError::Unreachable)));
    let Some(SearchEffect::Ask(again, _, Some(_))) = search.take(SearchInput::More) else { panic!("{search:?}") };
    search.take(SearchInput::Found(again, page(&[3], None, true)));
    assert_eq!((ids(&search), search.stage()), (vec![1, 2, 3], &Stage::Done));
}

#[test]
fn a_long_search_continues_automatically_for_a_limited_number_of_pages() {
    let mut search = Search::default();
    let mut ticket = asked(&mut search, "tax");
    for number in 1..PAGES_ON_ITS_OWN {
        match search.take(SearchInput::Found(ticket, page(&[], Some("on"), false))) {
            Some(SearchEffect::Ask(next, ..)) => ticket = next,
            other => panic!("{number}: {other:?}"),
        }
    }
    assert_eq!(search.take(SearchInput::Found(ticket, page(&[], Some("on"), false))), None);
    assert_eq!(search.stage(), &Stage::More);
    assert!(matches!(search.take(SearchInput::More), Some(SearchEffect::Ask(..))), "the user can continue it");
}
