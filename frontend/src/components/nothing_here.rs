//! What the page shows instead of content: nothing is there, or it could not be loaded.

use leptos::prelude::*;

use crate::text;

/// There is nothing at this address.
#[component]
pub(crate) fn NothingHere(
    /// What is missing.
    message: &'static str,
) -> impl IntoView {
    view! {
        <section class="nothing">
            <h1>{text::NOT_FOUND_TITLE}</h1>
            <p>{message}</p>
            <a class="button" href="/">{text::START_NEW}</a>
        </section>
    }
}

/// The data could not be had. The link loads the page again, also where there is no JavaScript.
#[component]
pub(crate) fn LoadFailed(
    /// What went wrong and what to do.
    message: String,
) -> impl IntoView {
    view! {
        <section class="nothing" role="alert">
            <h1>{text::FAILED_TITLE}</h1>
            <p>{message}</p>
            <a class="button" href="" rel="external">{text::RELOAD}</a>
        </section>
    }
}
