//! The page for an address that means nothing.

use leptos::prelude::*;

use crate::{
    components::{nothing_here::NothingHere, tab_title::TabTitle},
    data::Source,
    text,
};

/// Says that there is nothing here, with the HTTP status that goes with it.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    Source::from_context().set_status(404);
    view! {
        <TabTitle name=Some(text::NOT_FOUND_TITLE.to_owned()) />
        <main class="alone">
            <NothingHere message=text::NOT_FOUND_PAGE />
        </main>
    }
}
