//! The words in the browser's tab.

use leptos::{prelude::*, text_prop::TextProp};
use leptos_meta::Title;

use crate::text;

/// Names the page, after a conversation or whatever else is open.
///
/// `leptos_meta` writes a title into the server's HTML as it is, so that one with `</title>` in it would break out. A
/// browser gets it as text and needs no escaping.
#[component]
pub(crate) fn TabTitle(
    /// What is open; `None` for a new chat.
    #[prop(into)]
    name: Signal<Option<String>>,
) -> impl IntoView {
    let words = move || name.with(|name| text::page_title(name.as_deref()));
    let text: TextProp = if cfg!(target_arch = "wasm32") {
        words.into()
    } else {
        // The server writes the title into the head last of all, when the page's signals may be gone already.
        untrack(words).replace('&', "&amp;").replace('<', "&lt;").into()
    };
    view! { <Title text /> }
}
