//! The buttons of the note that calls wait for approval: one leads to the first call, the others decide on all of them.
//! They are in the chunk with messages.

use leptos::prelude::*;
use tallybook_protocol::{CallDecision, Decision, ToolCallId};

use crate::{
    approval::plain_decision,
    browser,
    components::parts::ids::card_id,
    language::use_language,
    reactive::memo,
    session::{Session, kept_reason},
};

/// Focuses the first call that waits, where keys decide.
pub(crate) fn go_to_first(waiting: Memo<Vec<ToolCallId>>) {
    if let Some(first) = waiting.with_untracked(|waiting| waiting.first().copied()) {
        browser::focus(&card_id(first));
    }
}

/// Renders the buttons.
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
