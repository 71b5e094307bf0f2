//! The page for an address that means nothing.

use leptos::prelude::*;

use crate::{components::nothing_here::NothingHere, language::use_language};

/// Says that there is nothing here.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    let text = use_language();
    view! {
        <main class="alone">
            <NothingHere message=text.not_found_page() />
        </main>
    }
}
