//! A button that loads more, and retries after a failure. It shows the state of loading.

use leptos::prelude::*;

use crate::{language::use_language, reactive::memo, session::Loading};

/// A small button that loads something.
#[component]
pub(crate) fn LoadButton(
    /// The test ID.
    name: &'static str,
    loading: Signal<Loading>,
    /// The label while nothing is being loaded.
    label: String,
    /// The label while something is being loaded.
    loading_label: &'static str,
    load: impl Fn() + 'static,
) -> impl IntoView {
    let text = use_language();
    let is_loading = memo(move |_| loading.get() == Loading::Running);
    let problem = move || match loading.get() {
        Loading::Failed(words) => Some(words),
        Loading::Idle | Loading::Running => None,
    };
    let label = move || match loading.get() {
        Loading::Idle => label.clone(),
        Loading::Running => loading_label.to_owned(),
        Loading::Failed(_) => text.try_again().to_owned(),
    };
    view! {
        {move || problem().map(|words| view! {
            <p class="failure" role="alert" data-testid=format!("{name}-problem")>{words}</p>
        })}
        <button
            type="button"
            class="button small"
            data-testid=name
            // Not disabled, because that would remove the focus.
            aria-disabled=move || is_loading.get().then_some("true")
            on:click=move |_| load()
        >
            {label}
        </button>
    }
    .into_any()
}
