//! Content for conversations that do not exist or could not be loaded.

use leptos::{prelude::*, tachys::html::class::class};

use crate::{components::parts::own_element::Attached, language::use_language};

/// ID of the content.
const NOTHING_ID: &str = "nothing";

/// Says that the address does not exist.
#[component]
pub(crate) fn NothingHere(
    /// The missing thing.
    message: &'static str,
) -> impl IntoView {
    let text = use_language();
    let content = view! {
        <h1>{text.not_found_title()}</h1>
        <p>{message}</p>
        <a class="button primary" href="/">{text.start_new()}</a>
    };
    Attached::new("section", NOTHING_ID).with(class("nothing")).containing(content)
}

/// Says that loading failed. The link reloads, also without JavaScript.
#[component]
pub(crate) fn LoadFailed(
    /// The problem, and how to solve it.
    message: String,
    /// Loads again without reloading the page.
    retry: impl Fn() + 'static,
) -> impl IntoView {
    let text = use_language();
    let content = view! {
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
    };
    Attached::new("section", NOTHING_ID).with(class("nothing")).attr("role", "alert").containing(content)
}
