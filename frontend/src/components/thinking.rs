//! What stands where an answer's next words will be: that the model is at work, and after a while for how long already.

use std::time::Duration;

use futures_util::future::abortable;
use leptos::{prelude::*, task::spawn_local};

use crate::{browser, text};

/// After so many seconds a reader wonders whether anything happens at all.
const LONG_WAIT_SECS: u64 = 9;

/// Says that the model is at work. The time counts from when this is shown.
#[component]
pub(crate) fn Thinking() -> impl IntoView {
    let seconds = RwSignal::new(0_u64);
    // Effects run in a browser alone.
    Effect::new(move || {
        let (ticking, handle) = abortable(async move {
            loop {
                browser::sleep(Duration::from_secs(1)).await;
                seconds.update(|seconds| *seconds += 1);
            }
        });
        on_cleanup(move || handle.abort());
        spawn_local(async move {
            // `Err` says that it was aborted, which is how it ends.
            let _ = ticking.await;
        });
    });
    let is_long = Memo::new(move |_| seconds.get() >= LONG_WAIT_SECS);
    let words = move || if is_long.get() { text::STILL_WAITING } else { text::THINKING };
    // Beside what is announced: a count that is read out every second would be no help.
    let count = move || is_long.get().then(|| text::waited(seconds.get()));
    view! {
        <p class="thinking">
            <span class="thinking-text" role="status">{words}</span>
            <span class="thinking-seconds">{count}</span>
        </p>
    }
    .into_any()
}
