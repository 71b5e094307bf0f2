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

/// The data could not be had. The link asks for it again, also where there is no JavaScript.
#[component]
pub(crate) fn LoadFailed(
    /// What went wrong and what to do.
    message: String,
    /// Asks for it again without loading the page anew.
    retry: impl Fn() + 'static,
) -> impl IntoView {
    let text = use_language();
    view! {
        <section class="nothing" role="alert">
            <h1>{text.failed_title()}</h1>
            <p>{message}</p>
            <a
                class="button primary"
                href=""
                rel="external"
                on:click=move |event| {
                    event.prevent_default();
                    retry();
                }
            >
                {text.try_again()}
            </a>
        </section>
    }
}
