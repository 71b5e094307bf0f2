//! The button that loads something more, and tries again when that failed. How it stands with it is told in its place.

use leptos::prelude::*;

use crate::{language::use_language, reactive::memo, session::Loading};

/// A small button.
#[component]
pub(crate) fn LoadButton(
    /// What tests and scripts know it by.
    name: &'static str,
    loading: Signal<Loading>,
    /// What it says while nothing is on its way.
    label: String,
    /// What it says while something is.
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
            // Not disabled: that would take the focus away.
            aria-disabled=move || is_loading.get().then_some("true")
            on:click=move |_| load()
        >
            {label}
        </button>
    }
    .into_any()
}
