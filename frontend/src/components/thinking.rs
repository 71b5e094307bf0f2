//! What stands where an answer's next words will be: that the model is at work, and after a while for how long already.

use leptos::prelude::*;

use crate::{components::seconds::use_seconds, language::use_language};

/// After so many seconds a reader wonders whether anything happens at all.
const LONG_WAIT_SECS: u64 = 9;

/// Says that the model is at work. The time counts from when this is shown.
#[component]
pub(crate) fn Thinking() -> impl IntoView {
    let text = use_language();
    let seconds = use_seconds(|| true);
    let is_long = Memo::new(move |_| seconds.get() >= LONG_WAIT_SECS);
    let words = move || if is_long.get() { text.still_waiting() } else { text.thinking() };
    // Beside what is announced: a count that is read out every second would be no help.
    let count = move || is_long.get().then(|| text.waited(seconds.get()));
    view! {
        <p class="thinking">
            <span class="thinking-text" role="status">{words}</span>
            <span class="thinking-seconds">{count}</span>
        </p>
    }
    .into_any()
}
