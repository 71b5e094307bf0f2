//! The page for an address that means nothing.

use leptos::prelude::*;

use crate::{
    components::{nothing_here::NothingHere, tab_title::TabTitle},
    data::Source,
    language::use_language,
};

/// Says that there is nothing here, with the HTTP status that goes with it.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    let text = use_language();
    Source::from_context().set_status(404);
    view! {
        <TabTitle name=Some(text.not_found_title().to_owned()) />
        <main class="alone">
            <NothingHere message=text.not_found_page() />
        </main>
    }
}
