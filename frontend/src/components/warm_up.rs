//! Drawing the parts of a message once before the first message is drawn: outside the document, each in a task of its own, and thrown
//! away. Browsers compile a function of WASM when it is first called, and a message calls hundreds: in one task that takes a slow
//! processor so long that a key pressed meanwhile is late.

use std::sync::Arc;

use leptos::{prelude::*, reactive::owner::Owner, tachys::view::any_view::AnyViewState};
use tallybook_protocol::{Conversation, Role};

use crate::{
    browser,
    components::{
        ending::Ending,
        items::Items,
        message_foot::{AnswerFoot, QuestionFoot},
        pieces::piece_view,
        question::bubble,
        shown::{Played, Shown, Used},
        times::when,
        way_on::{WayOnButton, use_way_on},
    },
    language::use_language,
    session::Session,
    transcript::{Entry, ExpandAll, Segment},
};

/// Draws a part of a message.
type Draw = fn(&Entry, Shown, Session) -> AnyView;

/// What a question and what an answer is drawn from, but for an answer's Markdown, which is taken over as the server drew it.
const OF_QUESTION: [Draw; 4] = [
    |entry, _, _| bubble(entry.text.clone()),
    |_, _, _| {
        browser::find_locales();
        ().into_any()
    },
    |entry, _, _| when(entry.at_ms.unwrap_or_default(), use_language()).into_any(),
    |_, shown, session| view! { <QuestionFoot entry=shown.entry session /> }.into_any(),
];
const OF_ANSWER: [Draw; 3] = [
    |entry, shown, _| first_items(entry, shown),
    |_, shown, session| {
        let way_on = use_way_on(shown.entry, Some(session));
        view! {
            <Ending entry=shown.entry />
            <WayOnButton way_on session />
        }
        .into_any()
    },
    |_, shown, session| {
        let way_on = use_way_on(shown.entry, Some(session));
        view! { <AnswerFoot entry=shown.entry session=Some(session) way_on /> }.into_any()
    },
];

/// Draws one part when it is called. What it returns is to be kept until the tasks that it has begun have had their turn.
pub(crate) type WarmUp = Box<dyn FnOnce() -> Drawn>;

/// The parts of the newest question and answer.
pub(crate) fn warm_ups(conversation: &Conversation, session: Session) -> Vec<WarmUp> {
    let parts_of = |role, parts: &'static [Draw]| {
        let message = conversation.messages.iter().rev().find(|message| message.role == role);
        let entry = message.map(|message| Arc::new(Entry::stored(message.clone(), &[])));
        entry.into_iter().flat_map(move |entry| parts.iter().map(move |part| (Arc::clone(&entry), *part)))
    };
    parts_of(Role::User, &OF_QUESTION)
        .chain(parts_of(Role::Assistant, &OF_ANSWER))
        .map(|(entry, part)| Box::new(move || Drawn::new(&entry, session, part)) as WarmUp)
        .collect()
}

/// A part that nobody sees.
pub(crate) struct Drawn {
    _state: Option<AnyViewState>,
    _owner: Owner,
}

impl Drawn {
    fn new(entry: &Arc<Entry>, session: Session, draw: Draw) -> Self {
        let owner = Owner::new();
        let state = owner.with(|| {
            provide_context(Played(RwSignal::new(None)));
            provide_context(Used(RwSignal::new(None)));
            let drawn = RwSignal::new(Some(Arc::clone(entry))).read_only();
            let shown = Shown { entry: drawn, expand_all: RwSignal::new(ExpandAll::default()), session: Some(session) };
            let place = document().create_element("div").ok()?;
            let mut state = draw(entry, shown, session).build();
            state.mount(&place, None);
            Some(state)
        });
        Self { _state: state, _owner: owner }
    }
}

fn first_items(entry: &Entry, shown: Shown) -> AnyView {
    let pieces = entry.segments();
    let first = pieces.iter().find(|piece| matches!(piece, Segment::Items(_)));
    first.map(|first| piece_view(Items::new(shown), first)).into_any()
}
