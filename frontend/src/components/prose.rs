//! Markdown text on the page: drawn once when it is complete, and where it grows while it grows.

use leptos::prelude::*;

use crate::markdown::Stretch;

/// Draws Markdown.
#[component]
pub(crate) fn Prose(stretch: Memo<Stretch>) -> impl IntoView {
    let now = stretch.get_untracked();
    if now.complete { now.into_any() } else { (move || stretch.get()).into_any() }
}
