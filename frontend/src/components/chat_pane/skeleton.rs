//! The placeholder for messages that are being loaded.

use leptos::prelude::*;

use crate::language::use_language;

/// The outlines of two questions and their answers.
#[component]
pub(crate) fn Skeleton() -> impl IntoView {
    let text = use_language();
    view! {
        <div class="skeleton" data-testid="skeleton" role="status">
            <span class="visually-hidden">{text.loading_conversation()}</span>
            {[(); 2].map(|()| view! {
                <div class="skeleton-question"></div>
                <div class="skeleton-line"></div>
                <div class="skeleton-line"></div>
                <div class="skeleton-line short"></div>
            }).into_iter().collect_view()}
        </div>
    }
    .into_any()
}
