//! The page for addresses that do not exist.

use leptos::prelude::*;

use crate::{components::nothing_here::NothingHere, language::use_language};

/// The page that says that the address does not exist.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    let text = use_language();
    view! {
        <main class="alone">
            <NothingHere message=text.not_found_page() />
        </main>
    }
}
