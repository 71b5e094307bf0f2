//! Generates sequences of events: responses that overtake each other, streams that break, uploads, edits, stops, other
//! tabs, a feed that is late or silent. In any order, no typed text and no attached file is lost, and in the end the
//! page shows what the server has.

use proptest::prelude::*;
use tallybook_protocol::MessageStatus::Complete;

use super::{server::Server, world::World, *};

/// An event. Numbers choose among the messages, requests or responses that exist at that time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Send,
    /// Starts editing a question, types in the field, or sends the edited text.
    BeginEdit(usize),
    EditLast,
    WriteEdit,
    Edit,
    /// Removes a queued message, starts editing one, types in its field, or replaces it with the edited text.
    Unqueue(usize),
    EditQueued(usize),
    WriteQueued,
    ChangeQueued,
    /// Removes a file from the question that is being edited.
    RemoveEditedFile(usize),
    /// Attaches a file, removes one, or uploads one again.
    Attach,
    RemoveFile(usize),
    RetryUpload(usize),
    /// Chooses the model or the mode of the next message.
    ChooseNext(bool),
    PlanFirst(bool),
    SendNow,
    Regenerate(usize),
    RegenerateBy(usize),
    /// Loads the full texts of a call.
    LoadCall(usize),
    Step(usize, bool),
    Continue,
    /// Decides on one of the waiting calls, or on all of them.
    Decide(usize),
    Stop,
    Earlier,
    /// Goes to a message, which may be on another branch.
    GoTo(usize),
    Retry,
    Hide(bool),
    /// The conversation is being deleted from this page, or the deletion is undone.
    Leaving(bool),
    Online,
    /// The browser draws a frame.
    Frame,
    /// A request arrives at the server.
    Arrive(usize),
    /// A request or its response is lost.
    Lose(usize),
    /// A response arrives at the page.
    Answer(usize),
    /// The stream delivers this many events.
    Tell(usize),
    Break,
    /// Other tabs hold the maximum number of streams, so this tab closes its own.
    Crowd,
    Write,
    End,
    /// The turn waits for approval.
    Pause,
    /// Another tab sends, selects, continues or decides.
    Elsewhere(usize),
    /// Another tab changes the unsent texts of the conversation.
    OtherTab(usize),
    /// The user leaves text and a file in the field of the new chat.
    WriteForNewChat,
    Delete,
    Feed,
    /// The feed is interrupted and reconnects, and the events in between are lost.
    FeedBreaks,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    prop_oneof![
        4 => Just(Send),
        2 => (0..9_usize).prop_map(BeginEdit),
        1 => Just(EditLast),
        2 => Just(WriteEdit),
        2 => Just(Edit),
        1 => (0..4_usize).prop_map(Unqueue),
        1 => (0..4_usize).prop_map(EditQueued),
        2 => Just(WriteQueued),
        2 => Just(ChangeQueued),
        1 => (0..4_usize).prop_map(RemoveEditedFile),
        2 => Just(Attach),
        1 => (0..4_usize).prop_map(RemoveFile),
        1 => (0..4_usize).prop_map(RetryUpload),
        1 => any::<bool>().prop_map(ChooseNext),
        1 => any::<bool>().prop_map(PlanFirst),
        2 => Just(SendNow),
        2 => (0..9_usize).prop_map(Regenerate),
        1 => (0..9_usize).prop_map(RegenerateBy),
        1 => (0..9_usize).prop_map(LoadCall),
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
        2 => (0..6_usize).prop_map(OtherTab),
        1 => Just(WriteForNewChat),
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
                server.send(&UnsentMessage { content, ..Default::default() }).unwrap();
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
