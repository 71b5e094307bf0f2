//! Markdown text on the page.

use leptos::prelude::*;

use crate::markdown::Stretch;

/// Draws Markdown.
#[component]
pub(crate) fn Prose(stretch: Memo<Stretch>) -> impl IntoView {
    // Complete text changes too: an answer that was cut off goes on, perhaps in another tab.
    move || stretch.get()
}
