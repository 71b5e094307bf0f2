//! Everything at once: requests whose answers overtake each other, streams that break, stops, other tabs, a feed that comes
//! late or not at all. Whatever the order, nothing that was typed is lost, and in the end the page shows what the server
//! has.

use proptest::prelude::*;
use tallybook_protocol::MessageStatus::Complete;

use super::{server::Server, world::World, *};

/// Something that happens. Numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Send,
    Edit(usize),
    /// Takes a message out that waits, begins to change one, or is done with that.
    Unqueue(usize),
    EditQueued(usize),
    ChangeQueued,
    SendNow,
    Regenerate(usize),
    Step(usize, bool),
    Continue,
    /// Decides on one or on all of the calls that wait.
    Decide(usize),
    Stop,
    Earlier,
    /// Goes to a message, which may be on another branch.
    GoTo(usize),
    Retry,
    Hide(bool),
    /// The conversation is being deleted here, or that is taken back.
    Leaving(bool),
    Online,
    /// What was to be drawn in the next frame is.
    Frame,
    /// A request arrives at the server.
    Arrive(usize),
    /// A request is lost, or its answer is.
    Lose(usize),
    /// An answer arrives at the page.
    Answer(usize),
    /// The stream tells so many events more.
    Tell(usize),
    Break,
    /// Other tabs hold as many streams as this browser may, so this one gives its stream up.
    Crowd,
    Write,
    End,
    /// The turn waits for decisions.
    Pause,
    /// Another tab asks, selects, goes on, or deletes.
    Elsewhere(usize),
    Delete,
    Feed,
    /// The feed's connection breaks and is there again, without what it had to tell.
    FeedBreaks,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    prop_oneof![
        4 => Just(Send),
        1 => (0..9_usize).prop_map(Edit),
        1 => (0..4_usize).prop_map(Unqueue),
        1 => (0..4_usize).prop_map(EditQueued),
        2 => Just(ChangeQueued),
        2 => Just(SendNow),
        2 => (0..9_usize).prop_map(Regenerate),
        2 => (0..9_usize, any::<bool>()).prop_map(|(which, newer)| Step(which, newer)),
        1 => Just(Continue),
        3 => (0..3_usize).prop_map(Decide),
        2 => Just(Stop),
        1 => Just(Earlier),
        1 => (0..60_usize).prop_map(GoTo),
        1 => Just(Retry),
        2 => any::<bool>().prop_map(Hide),
        1 => any::<bool>().prop_map(Leaving),
        1 => Just(Online),
        3 => Just(Frame),
        8 => (0..4_usize).prop_map(Arrive),
        1 => (0..4_usize).prop_map(Lose),
        10 => (0..4_usize).prop_map(Answer),
        8 => (1..4_usize).prop_map(Tell),
        1 => Just(Break),
        1 => Just(Crowd),
        6 => Just(Write),
        3 => Just(End),
        2 => Just(Pause),
        3 => (0..9_usize).prop_map(Elsewhere),
        1 => prop::strategy::Union::new_weighted(vec![(1, Just(Delete).boxed()), (12, Just(Write).boxed())]),
        5 => Just(Feed),
        1 => Just(FeedBreaks),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_in_the_end_the_page_shows_what_the_server_has(
        turns in prop_oneof![Just(None), (1..4_usize).prop_map(Some), Just(Some(30))],
        happenings in proptest::collection::vec(happening(), 0..90),
    ) {
        let mut server = Server::default();
        if let Some(turns) = turns {
            server.make();
            for turn in 0..turns {
                let content = format!("Question {turn}");
                server.send(&tallybook_protocol::NewMessage { content, ..Default::default() }).unwrap();
                server.write();
                server.end(Complete).unwrap();
            }
            server.feed.clear();
        }
        let place = if turns.is_some() { Place::Loading(HERE) } else { Place::NewChat };
        let mut world = World::new(server, place);
        for happening in happenings {
            world.happen(happening);
        }
        world.settle();
    }
}
