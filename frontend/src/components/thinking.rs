//! What stands where an answer's next words will be: what is waited for, and for how long already.

use leptos::prelude::*;

use crate::{components::seconds::use_seconds, format, language::use_language, reactive::memo, waiting::Waiting};

/// After so many seconds it is told how many.
const TOLD_AFTER_SECS: u64 = 3;
/// After so many seconds a reader wonders whether anything happens at all.
pub(crate) const LONG_WAIT_SECS: u64 = 9;

/// Says that the model is at work. The time counts from when this is shown.
#[component]
pub(crate) fn Thinking(
    /// What is waited for; the model, unless told.
    #[prop(optional, into)]
    waiting: Signal<Waiting>,
) -> impl IntoView {
    let text = use_language();
    let seconds = use_seconds(|| true);
    // When it was heard what is waited for.
    let since = memo(move |_| {
        waiting.track();
        seconds.get_untracked()
    });
    let is_long = memo(move |_| seconds.get() >= LONG_WAIT_SECS);
    let words = move || waiting.with(|waiting| text.waiting(waiting, is_long.get()));
    // Beside what is announced: a count that is read out every second would be no help.
    let count = move || {
        let passed = seconds.get();
        waiting.with(|waiting| match waiting {
            Waiting::Provider { seconds, attempt, attempts, .. } => {
                let left = seconds.saturating_sub(passed.saturating_sub(since.get()));
                Some(text.retrying(left, *attempt, *attempts))
            }
            Waiting::Call { bytes, .. } => Some(format::size(text, *bytes)),
            Waiting::Model => (passed >= TOLD_AFTER_SECS).then(|| text.waited(passed)),
        })
    };
    view! {
        <p class="thinking">
            <span class="spinner" aria-hidden="true"></span>
            <span role="status">{words}</span>
            <span class="thinking-seconds">{count}</span>
        </p>
    }
    .into_any()
}
