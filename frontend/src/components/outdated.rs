//! Says that the server has another version of the page by now. What this one has not yet loaded of its own it can no
//! longer have.

use leptos::prelude::*;

use crate::{browser, feed::Feed, language::use_language};

/// The line under the bar; nothing while the page is the server's own.
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
