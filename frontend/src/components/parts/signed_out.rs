//! Says that the session is over, with the way to sign in and back to here.

use leptos::prelude::*;

use crate::{address::Navigation, feed::Feed, language::use_language};

/// The line under the bar; nothing while the user is signed in.
#[component]
pub(crate) fn SignedOut(feed: Feed, navigation: Navigation) -> impl IntoView {
    let text = use_language();
    // The sign-in page passes the fragment on, which names the message that is shown.
    let href = move || {
        let fragment = window().location().hash().unwrap_or_default();
        format!("/sign-in?next={}{fragment}", navigation.get().pathname())
    };
    view! {
        {move || feed.is_signed_out.get().then(|| view! {
            <p class="outdated" role="alert">
                <span data-testid="signed-out">{text.signed_out()}</span>
                // The server answers with another page.
                <a class="button small" rel="external" data-testid="sign-in-again" href=href>{text.sign_in_again()}</a>
            </p>
        })}
    }
    .into_any()
}
