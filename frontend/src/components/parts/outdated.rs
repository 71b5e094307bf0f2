//! The notice that the server has another version of the page. Lazy parts of the old version that are not loaded yet
//! are no longer available.

use leptos::prelude::*;

use crate::{browser, feed::Feed, language::use_language};

/// The line below the header; empty while the versions are the same.
#[component]
pub(crate) fn Outdated(feed: Feed) -> impl IntoView {
    let text = use_language();
    view! {
        <p class="outdated" role="status">
            {move || feed.is_outdated.get().then(|| view! {
                <span data-testid="outdated">{text.outdated()}</span>
                <button type="button" class="button small" data-testid="reload" on:click=|_| browser::reload()>
                    {text.reload_page()}
                </button>
            })}
        </p>
    }
    .into_any()
}
