//! The note above the message field that calls wait for approval. It leads to them, and decides on all of them
//! together (`approval_buttons`).

use leptos::prelude::*;
use tallybook_protocol::ToolCallId;

use crate::{
    browser,
    components::lazy::{MessagePart, lazy},
    language::use_language,
    reactive::memo,
    session::{Phase, Session},
    transcript::Entry,
};

/// ID of the note.
const NOTE_ID: &str = "approval-note";

/// Returns the calls that wait for approval while no turn runs.
pub(crate) fn use_waiting_calls(session: Session) -> Memo<Vec<ToolCallId>> {
    memo(move |_| {
        // Checked first, so that an answer that is being written is not searched for each change.
        if session.phase.get() != Phase::Awaiting {
            return Vec::new();
        }
        session.transcript.with(|transcript| transcript.awaiting().map(Entry::waiting_calls)).unwrap_or_default()
    })
}

/// The note; empty if no call waits.
#[component]
pub(crate) fn ApprovalNote(session: Session, waiting: Memo<Vec<ToolCallId>>) -> impl IntoView {
    let text = use_language();
    // The server-rendered note stays until the browser knows the calls.
    let drawn = browser::drawn_by_server(NOTE_ID).map(|note| note.inner_html());
    let drawn = move || drawn.clone().filter(|_| session.is_loading());
    let count = memo(move |_| waiting.with(Vec::len));
    let words = move || Some(count.get()).filter(|count| *count > 0).map(|count| text.calls_need_approval(count));
    let has_calls = memo(move |_| count.get() > 0);
    // On a phone, the note of a single call makes room for the buttons of the call's card.
    let is_beside_card = memo(move |_| {
        waiting.with(|waiting| match waiting.as_slice() {
            [only] => session.decidable_in_sight.with(|calls| calls.contains(only)),
            _ => false,
        })
    });
    view! {
        {move || drawn().map(|html| view! { <div class="approval-note" data-stand-in inner_html=html></div> })}
        <div class="approval-note" class:beside-card=is_beside_card id=NOTE_ID>
            <span role="status" data-testid="consent-note">{words}</span>
            {lazy(move || has_calls.get().then_some(MessagePart::ApprovalButtons { session, waiting, count }))}
        </div>
    }
    .into_any()
}
