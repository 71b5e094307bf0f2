//! A text from outside with codes in the place of characters that cannot be seen, and the warning that names them.

use leptos::prelude::*;

use crate::{
    invisible::{Found, ShownPart, shown},
    language::Language,
};

/// The text, for an element that keeps line breaks.
pub(crate) fn visible(content: &str, text: Language) -> AnyView {
    let parts = shown(content, text).into_iter().map(|part| match part {
        ShownPart::Text(words) => words.into_any(),
        ShownPart::Mark(mark) => view! { <span class="code-point">{mark}</span> }.into_any(),
    });
    let mut parts: Vec<AnyView> = parts.collect();
    if parts.len() == 1 { parts.remove(0) } else { parts.into_any() }
}

/// Names what was found; nothing if nothing was.
pub(crate) fn warning_view(found: Found, text: Language) -> Option<AnyView> {
    let words = found.warning(text)?;
    Some(view! { <p class="code-point-warning" role="note" data-testid="hidden-characters">{words}</p> }.into_any())
}
