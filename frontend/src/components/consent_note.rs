//! Above the message field: that calls wait for a decision, the way to them, and a word for all of them at once.

use leptos::prelude::*;
use tallybook_protocol::{CallDecision, Decision, ToolCallId};

use crate::{
    browser,
    components::ids::card_id,
    consent::plain_decision,
    language::use_language,
    reactive::memo,
    session::{Phase, Session, kept_reason},
    transcript::Entry,
};

/// The note's element.
const NOTE_ID: &str = "consent-note";

/// The calls that wait for a decision while nothing else goes on.
pub(crate) fn use_waiting_calls(session: Session) -> Memo<Vec<ToolCallId>> {
    memo(move |_| {
        // Asked first, so that an answer under way is not looked through at each word.
        if session.phase.get() != Phase::Awaiting {
            return Vec::new();
        }
        session.transcript.with(|transcript| transcript.awaiting().map(Entry::waiting_calls)).unwrap_or_default()
    })
}

/// Moves the focus to the first call that waits, where keys decide.
pub(crate) fn go_to_first(waiting: Memo<Vec<ToolCallId>>) {
    if let Some(first) = waiting.with_untracked(|waiting| waiting.first().copied()) {
        browser::focus(&card_id(first));
    }
}

/// What waits; nothing where nothing does.
#[component]
pub(crate) fn ConsentNote(session: Session, waiting: Memo<Vec<ToolCallId>>) -> impl IntoView {
    let text = use_language();
    // What the server wrote stays until it is known here.
    let drawn = browser::drawn_by_server(NOTE_ID).map(|note| note.inner_html());
    let drawn = move || drawn.clone().filter(|_| session.is_loading());
    let count = memo(move |_| waiting.with(Vec::len));
    let words = move || Some(count.get()).filter(|count| *count > 0).map(|count| text.calls_need_approval(count));
    // What is allowed is what was read: no call with input that was not in sight, or that is being edited.
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
                    disabled=!browser::IS_HERE
                    // Still found by the keyboard, so that the reason is too.
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
        {move || drawn().map(|html| view! { <div class="consent-note" inner_html=html></div> })}
        <div class="consent-note" id=NOTE_ID>
            <span role="status" data-testid="consent-note">{words}</span>
            {move || (count.get() > 0).then(|| {
                button("show-calls", text.review_calls(), at_any_time, Callback::new(move |()| go_to_first(waiting)))
            })}
            {move || (count.get() > 1).then(|| [
                button("allow-all", text.allow_all(), why_not, Callback::new(move |()| decide(Decision::Approve))),
                button("deny-all", text.deny_all(), at_any_time, Callback::new(move |()| decide(Decision::Deny))),
            ].collect_view())}
        </div>
    }
    .into_any()
}
