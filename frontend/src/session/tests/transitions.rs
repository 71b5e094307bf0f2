//! The transitions of a connection.

use super::*;
use crate::session::connection::{Event, Refetch, RefetchReason, Scope, Starting};

const REASONS: [(&str, RefetchReason); 3] =
    [("check", RefetchReason::Check), ("follow", RefetchReason::Follow), ("poll", RefetchReason::Poll)];

/// The states that each event can happen in, and the state that follows. An event cannot happen in any other state.
const TABLE: [(&str, &str, &str); 16] = [
    ("create", "idle check", "creating"),
    ("send", "idle check follow poll creating selecting", "starting"),
    ("continue", "idle check", "starting"),
    ("select", "idle check", "selecting"),
    ("check", "idle check", "check"),
    ("follow", "idle check follow poll starting joining streaming backoff crowded hidden", "follow"),
    ("poll", "poll hidden", "poll"),
    ("join", "check follow poll selecting backoff", "joining"),
    ("stream", "creating starting joining", "streaming"),
    ("back off", "idle follow joining streaming backoff", "backoff"),
    ("crowd", "joining streaming", "crowded"),
    ("hide", "follow poll joining streaming backoff crowded", "hidden"),
    ("rest", "check follow poll creating starting selecting joining streaming", "idle"),
    ("delete", "idle check follow poll creating starting selecting joining streaming backoff crowded hidden", "idle"),
    ("decide", "idle check", "starting"),
    ("regenerate", "idle check", "starting"),
];

fn refetch(why: RefetchReason) -> Refetch {
    Refetch { why, scope: Scope::All }
}

fn states() -> Vec<(&'static str, Connection)> {
    let mut states: Vec<_> = REASONS.map(|(name, why)| (name, Connection::Refetching(refetch(why)))).into();
    states.extend([
        ("idle", Connection::Idle),
        ("creating", Connection::Creating(UnsentMessage::default())),
        ("starting", Connection::Starting(Starting::Continue)),
        ("selecting", Connection::Selecting { wanted: MessageId(1), step: None }),
        ("joining", Connection::Joining),
        ("streaming", Connection::Streaming),
        ("backoff", Connection::Backoff(1)),
        ("crowded", Connection::Crowded),
        ("hidden", Connection::Hidden),
    ]);
    states
}

fn event(name: &str) -> Event {
    let message = UnsentMessage::default();
    match name {
        "create" => Event::Create(message),
        "send" => Event::Start(Starting::Message { message, cut: Vec::new() }),
        "continue" => Event::Start(Starting::Continue),
        "decide" => Event::Start(Starting::Decide),
        "regenerate" => Event::Start(Starting::Regenerate { cut: Vec::new() }),
        "select" => Event::Select { wanted: MessageId(1), step: None },
        "join" => Event::Join,
        "stream" => Event::Stream,
        "back off" => Event::BackOff(1),
        "crowd" => Event::Crowd,
        "hide" => Event::Hide,
        "rest" => Event::Rest,
        "delete" => Event::Delete,
        why => Event::Load(refetch(REASONS.into_iter().find(|(name, _)| *name == why).unwrap().1)),
    }
}

fn name(state: &Connection) -> &'static str {
    let is_same = |other: &Connection| match (state, other) {
        (Connection::Refetching(one), Connection::Refetching(other)) => one.why == other.why,
        _ => std::mem::discriminant(state) == std::mem::discriminant(other),
    };
    states().into_iter().find(|(_, other)| is_same(other)).unwrap().0
}

#[test]
fn each_event_happens_only_in_its_states() {
    for (event_name, from, to) in TABLE {
        for (state_name, state) in states() {
            let expected = from.split(' ').any(|name| name == state_name).then_some(to);
            let next = state.next(event(event_name));
            assert_eq!(next.as_ref().map(name), expected, "{event_name} in {state_name}");
        }
    }
}

#[test]
fn a_load_that_another_request_replaces_is_due_again() {
    for (state_name, state) in states() {
        for (event_name, ..) in TABLE {
            let given_up = state.gives_up(&event(event_name)).is_some();
            let is_by_user = ["create", "send", "continue", "decide", "regenerate", "select"].contains(&event_name);
            let expected = is_by_user && state_name == "check" || event_name == "hide" && state_name == "follow";
            assert_eq!(given_up, expected, "{event_name} in {state_name}");
        }
    }
}
