//! A text whose length nobody promised: its beginning, and the rest when asked for. However long it is, no more of it is
//! laid out than what is in sight.

use leptos::{html, prelude::*};

use crate::{browser, format, in_turn::in_next_frame, language::use_language};

/// Longer texts show their beginning first.
const LONG_TEXT_CHARS: usize = 4000;
/// What is no longer than this never scrolls inside itself.
const SHORT_TEXT_BYTES: usize = 400;
const SHORT_TEXT_LINES: usize = 12;
/// Longer texts are laid out block by block, as they come into sight.
const BLOCK_BYTES: usize = 64 * 1024;

/// A text that is here whole.
#[component]
pub(crate) fn LongText(
    content: String,
    /// Whether all of it is shown at once, because the reader has asked for it already.
    #[prop(optional)]
    all: bool,
) -> impl IntoView {
    let text = use_language();
    let (start, is_long) = format::beginning(&content, LONG_TEXT_CHARS);
    if !is_long || all {
        return text_view(&content, NodeRef::new());
    }
    let start = start.to_owned();
    let characters = content.chars().count();
    let all = RwSignal::new(false);
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
        {move || text_view(if all.get() { &content } else { &start }, place)}
        <Show when=move || !all.get()>
            <button type="button" class="button small" data-testid="show-all" on:click=show_all>
                {text.show_all(characters)}
            </button>
        </Show>
    }
    .into_any()
}

/// The beginning of a text, when the rest is not here.
pub(crate) fn beginning_view(content: &str) -> AnyView {
    let (start, _) = format::beginning(content, LONG_TEXT_CHARS);
    (!start.is_empty()).then(|| text_view(start, NodeRef::new())).into_any()
}

fn text_view(content: &str, place: NodeRef<html::Pre>) -> AnyView {
    // What may scroll must be reachable with the keyboard.
    let is_tall = content.len() > SHORT_TEXT_BYTES || content.lines().count() > SHORT_TEXT_LINES;
    let tabindex = is_tall.then_some("0");
    if content.len() <= BLOCK_BYTES {
        return view! { <pre tabindex=tabindex node_ref=place>{content.to_owned()}</pre> }.into_any();
    }
    let blocks =
        format::blocks(content, BLOCK_BYTES).map(|block| view! { <div class="block">{block.to_owned()}</div> });
    view! { <pre tabindex=tabindex node_ref=place>{blocks.collect_view()}</pre> }.into_any()
}
