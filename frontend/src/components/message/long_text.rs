//! A text of any length: its beginning, and the rest on demand. Only its visible part is laid out.

use leptos::{html, prelude::*};

use crate::{
    browser,
    components::parts::visible::visible,
    format,
    language::{Language, use_language},
    mount_schedule::in_next_frame,
};

/// Minimum length of texts that are collapsed at first.
const LONG_TEXT_CHARS: usize = 4000;
/// Maximum length of texts that never scroll within their element.
const SHORT_TEXT_BYTES: usize = 400;
const SHORT_TEXT_LINES: usize = 12;
/// Minimum length of texts that are laid out block by block when they become visible.
const BLOCK_BYTES: usize = 64 * 1024;

/// Returns `true` if a text is collapsed at first.
pub(crate) fn is_long(content: &str) -> bool {
    format::beginning(content, LONG_TEXT_CHARS).1
}

/// A text that is known in full.
#[component]
pub(crate) fn LongText(
    content: String,
    /// Set when the user asks for all of it, here or elsewhere.
    all: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let (start, is_long) = format::beginning(&content, LONG_TEXT_CHARS);
    if !is_long || all.get_untracked() {
        return text_view(&content, NodeRef::new(), text);
    }
    let start = start.to_owned();
    let characters = content.chars().count();
    let place = NodeRef::<html::Pre>::new();
    let show_all = move |_| {
        all.set(true);
        // The button is removed, so the focus moves to the text.
        in_next_frame(move || {
            if let Some(place) = place.try_get_untracked().flatten() {
                browser::focus_in_place(&place);
            }
        });
    };
    view! {
        {move || text_view(if all.get() { &content } else { &start }, place, text)}
        <Show when=move || !all.get()>
            <button type="button" class="button small" data-testid="show-all" on:click=show_all>
                {text.show_all(characters)}
            </button>
        </Show>
    }
    .into_any()
}

/// The beginning of a text whose rest is not known.
pub(crate) fn beginning_view(content: &str, text: Language) -> AnyView {
    let (start, _) = format::beginning(content, LONG_TEXT_CHARS);
    (!start.is_empty()).then(|| text_view(start, NodeRef::new(), text)).into_any()
}

fn text_view(content: &str, place: NodeRef<html::Pre>, text: Language) -> AnyView {
    // An element that may scroll must be focusable.
    let is_tall = content.len() > SHORT_TEXT_BYTES || content.lines().count() > SHORT_TEXT_LINES;
    let tabindex = is_tall.then_some("0");
    if content.len() <= BLOCK_BYTES {
        return view! { <pre tabindex=tabindex node_ref=place>{visible(content, text)}</pre> }.into_any();
    }
    let blocks =
        format::blocks(content, BLOCK_BYTES).map(|block| view! { <div class="block">{visible(block, text)}</div> });
    view! { <pre tabindex=tabindex node_ref=place>{blocks.collect_view()}</pre> }.into_any()
}
