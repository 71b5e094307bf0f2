//! A text whose length nobody promised: its beginning, and the rest when asked for. However long it is, no more of it is
//! laid out than what is in sight.

use leptos::{html, prelude::*};

use crate::{
    browser,
    components::visible::visible,
    format,
    in_turn::in_next_frame,
    language::{Language, use_language},
};

/// Longer texts show their beginning first.
const LONG_TEXT_CHARS: usize = 4000;
/// What is no longer than this never scrolls inside itself.
const SHORT_TEXT_BYTES: usize = 400;
const SHORT_TEXT_LINES: usize = 12;
/// Longer texts are laid out block by block, as they come into sight.
const BLOCK_BYTES: usize = 64 * 1024;

/// Returns `true` if a text shows its beginning first.
pub(crate) fn is_long(content: &str) -> bool {
    format::beginning(content, LONG_TEXT_CHARS).1
}

/// A text that is here whole.
#[component]
pub(crate) fn LongText(
    content: String,
    /// Set when the reader asks for all of it: here, or where the signal comes from.
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
        // The button is gone; the next key should still find the text.
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

/// The beginning of a text, when the rest is not here.
pub(crate) fn beginning_view(content: &str, text: Language) -> AnyView {
    let (start, _) = format::beginning(content, LONG_TEXT_CHARS);
    (!start.is_empty()).then(|| text_view(start, NodeRef::new(), text)).into_any()
}

fn text_view(content: &str, place: NodeRef<html::Pre>, text: Language) -> AnyView {
    // What may scroll must be reachable with the keyboard.
    let is_tall = content.len() > SHORT_TEXT_BYTES || content.lines().count() > SHORT_TEXT_LINES;
    let tabindex = is_tall.then_some("0");
    if content.len() <= BLOCK_BYTES {
        return view! { <pre tabindex=tabindex node_ref=place>{visible(content, text)}</pre> }.into_any();
    }
    let blocks =
        format::blocks(content, BLOCK_BYTES).map(|block| view! { <div class="block">{visible(block, text)}</div> });
    view! { <pre tabindex=tabindex node_ref=place>{blocks.collect_view()}</pre> }.into_any()
}
