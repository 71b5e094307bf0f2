//! How far a running call is, below its line. A reader who does not see it is not told of each step.

use leptos::prelude::*;

use crate::{language::use_language, reactive::memo, transcript::Progress};

/// A thin bar and what the tool says; the bar just moves where nobody knows how much there is.
#[component]
pub(crate) fn CallProgress(progress: Memo<Option<Progress>>) -> impl IntoView {
    let text = use_language();
    let is_told = memo(move |_| progress.with(Option::is_some));
    let percent = move || progress.with(|progress| progress.as_ref()?.percent.map(|percent| percent.to_string()));
    let words = move || progress.with(|progress| progress.as_ref().map(|progress| text.progress(progress)));
    move || {
        is_told.get().then(|| {
            view! {
                <p class="tool-progress" data-testid="tool-progress" aria-live="off">
                    <progress max="100" value=percent aria-label=text.call_running()></progress>
                    <span dir="auto">{words}</span>
                </p>
            }
        })
    }
}
