//! What the page shows instead of content: nothing is there, or it could not be loaded.

use leptos::prelude::*;

use crate::language::use_language;

/// There is nothing at this address.
#[component]
pub(crate) fn NothingHere(
    /// What is missing.
    message: &'static str,
) -> impl IntoView {
    let text = use_language();
    view! {
        <section class="nothing">
            <h1>{text.not_found_title()}</h1>
            <p>{message}</p>
            <a class="button primary" href="/">{text.start_new()}</a>
        </section>
    }
}

/// The data could not be had. The link loads the page again, also where there is no JavaScript.
#[component]
pub(crate) fn LoadFailed(
    /// What went wrong and what to do.
    message: String,
) -> impl IntoView {
    let text = use_language();
    view! {
        <section class="nothing" role="alert">
            <h1>{text.failed_title()}</h1>
            <p>{message}</p>
            <a class="button primary" href="" rel="external">{text.reload()}</a>
        </section>
    }
}
