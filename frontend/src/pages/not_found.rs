//! The page for an unknown address.

use leptos::prelude::*;

use crate::{components::parts::nothing_here::NothingHere, language::use_language};

/// Shows that this page does not exist.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    let text = use_language();
    view! {
        <main class="alone">
            <NothingHere message=text.not_found_page() />
        </main>
    }
}
