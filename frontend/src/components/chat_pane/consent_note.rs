//! The note above the message field that calls wait for approval. It leads to them, and decides on all of them
//! together. Its buttons are in the chunk with messages.

use leptos::prelude::*;
use tallybook_protocol::{CallDecision, Decision, ToolCallId};

use crate::{
    browser,
    components::{
        lazy::{MessagePart, lazy},
        parts::ids::card_id,
    },
    consent::plain_decision,
    language::use_language,
    reactive::memo,
    session::{Phase, Session, kept_reason},
    transcript::Entry,
};

/// ID of the note.
const NOTE_ID: &str = "consent-note";

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

/// Focuses the first call that waits, where keys decide.
pub(crate) fn go_to_first(waiting: Memo<Vec<ToolCallId>>) {
    if let Some(first) = waiting.with_untracked(|waiting| waiting.first().copied()) {
        browser::focus(&card_id(first));
    }
}

/// The note; empty if no call waits.
#[component]
pub(crate) fn ConsentNote(session: Session, waiting: Memo<Vec<ToolCallId>>) -> impl IntoView {
    let text = use_language();
    // The server-rendered note stays until the browser knows the calls.
    let drawn = browser::drawn_by_server(NOTE_ID).map(|note| note.inner_html());
    let drawn = move || drawn.clone().filter(|_| session.is_loading());
    let count = memo(move |_| waiting.with(Vec::len));
    let words = move || Some(count.get()).filter(|count| *count > 0).map(|count| text.calls_need_approval(count));
    let has_calls = memo(move |_| count.get() > 0);
    view! {
        {move || drawn().map(|html| view! { <div class="consent-note" data-copied inner_html=html></div> })}
        <div class="consent-note" id=NOTE_ID>
            <span role="status" data-testid="consent-note">{words}</span>
            {lazy(move || has_calls.get().then_some(MessagePart::ConsentButtons { session, waiting, count }))}
        </div>
    }
    .into_any()
}

/// Renders the buttons of the note.
pub(crate) fn buttons(session: Session, waiting: Memo<Vec<ToolCallId>>, count: Memo<usize>) -> AnyView {
    let text = use_language();
    // Only calls can be approved whose input was visible and is not being edited.
    let is_unseen = memo(move |_| {
        session.seen_calls.with(|seen| waiting.with(|waiting| waiting.iter().any(|id| !seen.contains(id))))
    });
    let decide = move |decision: Decision| {
        if decision == Decision::Approve && is_unseen.get_untracked() {
            return;
        }
        let decided = |id: ToolCallId| {
            let reason = Some(kept_reason(id)).filter(|reason| decision == Decision::Deny && !reason.is_empty());
            CallDecision { reason, ..plain_decision(id, decision) }
        };
        session.decide(waiting.get_untracked().into_iter().map(decided).collect());
    };
    let button =
        move |name: &'static str, label: &'static str, why_not: Signal<Option<&'static str>>, run: Callback<()>| {
            view! {
                <button
                    type="button"
                    class="button small"
                    data-testid=name
                    // Only calls can be allowed whose input this page has shown.
                    disabled=name == "allow-all" && !browser::IS_HERE
                    // Still focusable, so that a screen reader can reach the reason.
                    aria-disabled=move || why_not.get().map(|_| "true")
                    aria-description=move || why_not.get()
                    title=move || why_not.get()
                    on:click=move |_| run.run(())
                >
                    {label}
                </button>
            }
            .into_any()
        };
    let why_not = Signal::derive(move || is_unseen.get().then(|| text.show_all_inputs_first()));
    let at_any_time = Signal::stored(None);
    view! {
        {button("show-calls", text.review_calls(), at_any_time, Callback::new(move |()| go_to_first(waiting)))}
        {move || (count.get() > 1).then(|| [
            button("allow-all", text.allow_all(), why_not, Callback::new(move |()| decide(Decision::Approve))),
            button("deny-all", text.deny_all(), at_any_time, Callback::new(move |()| decide(Decision::Deny))),
        ].collect_view())}
    }
    .into_any()
}
