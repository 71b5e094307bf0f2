//! The one way on from an answer that is not as it should be, as long as nothing came after it.

use leptos::prelude::*;
use tallybook_protocol::{MessageId, MessageStatus};

use crate::{
    components::{
        composer::go_on_writing,
        shown::{OptionalEntry, read},
    },
    language::use_language,
    reactive::memo,
    session::Session,
    transcript::Entry,
};

/// What is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayOn {
    /// To go on where the answer was cut off.
    Continue,
    /// To have it written anew, as another version: there is no whole step of it to go on from.
    Again,
    /// To ask for what did not fit.
    AskForRest,
}

impl WayOn {
    fn of(entry: &Entry) -> Option<Self> {
        match () {
            () if entry.status == MessageStatus::Complete && entry.is_cut_short() => Some(Self::AskForRest),
            () if !entry.is_cut_off() => None,
            () if entry.calls().next().is_none() && entry.plan.is_none() => Some(Self::Again),
            () => Some(Self::Continue),
        }
    }
}

/// The way on from an answer now; none while a turn runs.
pub(crate) fn use_way_on(entry: OptionalEntry, session: Option<Session>) -> Memo<Option<(MessageId, WayOn)>> {
    memo(move |_| {
        let session = session?;
        let offered = read(entry, |entry| Some((entry.id, WayOn::of(entry)?)))?;
        // Asked first, so that whole answers watch nothing else.
        let last = session.transcript.with(|transcript| transcript.entries().last().map(|entry| entry.id));
        (last == Some(offered.0) && !session.is_busy()).then_some(offered)
    })
}

/// Its button.
#[component]
pub(crate) fn WayOnButton(way_on: Memo<Option<(MessageId, WayOn)>>, session: Session) -> impl IntoView {
    let text = use_language();
    move || {
        way_on.get().map(|(id, way)| {
            let (name, label) = match way {
                WayOn::Continue => ("continue", text.continue_answer()),
                WayOn::Again => ("retry", text.try_again()),
                WayOn::AskForRest => ("ask-for-rest", text.ask_for_rest()),
            };
            let act = move |_| {
                match way {
                    WayOn::Continue => session.continue_turn(),
                    WayOn::Again => session.regenerate(id),
                    WayOn::AskForRest => session.send(text.continue_message()),
                }
                go_on_writing();
            };
            view! {
                <button type="button" class="button small way-on" data-testid=name on:click=act>
                    {label}
                </button>
            }
        })
    }
}
