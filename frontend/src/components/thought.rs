//! What a model showed of its thinking, as one quiet line: that it thinks, or for how long it did. The line is a button that
//! opens the words, which are text and never Markdown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    components::{
        icon::{Draw, Icon},
        items::{Items, Lines, element_id},
        long_text::LongText,
        seconds::use_seconds,
        shown::read,
        tool_group::{Folding, folding_of},
    },
    format,
    language::{Language, use_language},
    reactive::memo,
    transcript::{Item, ItemKey, Thought as Thinking},
};

/// The thinking of one step.
#[component]
pub(crate) fn Thought(key: ItemKey, lines: Lines, items: Items) -> impl IntoView {
    let text = use_language();
    let thought = memo(move |_| {
        read(items.shown.entry, |entry| {
            let item = entry.items.iter().find(|item| item.key() == key);
            item.and_then(Item::as_thought).cloned()
        })
    });
    let is_over = memo(move |_| thought.with(|thought| thought.as_ref().is_none_or(|thought| thought.is_over)));
    let open = memo(move |_| items.is_open(key, false));
    let words = move || thought.with(|thought| thought.as_deref().map(|thought| heading(thought, text)));
    let seconds = use_seconds(move || !is_over.get());
    let waited = move || (!is_over.get() && seconds.get() > 0).then(|| text.waited(seconds.get()));
    let folding = move || lines.with(|lines| folding_of(lines, key, items));
    let details_id = format!("{}-words", element_id(key));
    let controls = details_id.clone();
    view! {
        <div
            class="tool thought"
            id=element_id(key)
            data-grouped=move || (folding() != Folding::Alone).then_some("")
            hidden=move || folding() == Folding::Folded
        >
            <button
                type="button"
                class="tool-line"
                data-testid="thought"
                data-running=move || (!is_over.get()).then_some("")
                aria-expanded=move || open.get().to_string()
                aria-controls=controls
                on:click=move |_| items.set(key, !open.get_untracked())
            >
                <span class="tool-status">
                    {move || if is_over.get() {
                        view! { <Draw icon=Icon::Thought /> }.into_any()
                    } else {
                        view! { <span class="spinner" aria-hidden="true"></span> }.into_any()
                    }}
                </span>
                <span class="thought-heading">{words}</span>
                <span class="tool-space"></span>
                <span class="tool-duration">{waited}</span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
            // Spoken from here, since a button's inside is not heard when it changes.
            <span class="visually-hidden" role="status">{move || (!is_over.get()).then(|| text.thinking())}</span>
            {move || open.get().then(|| {
                let id = details_id.clone();
                view! { <div class="thought-words" id=id dir="auto" data-testid="thought-words">{words_view(thought, is_over)}</div> }
            })}
        </div>
    }
    .into_any()
}

/// The words: as they come, or whole.
fn words_view(thought: Memo<Option<Arc<Thinking>>>, is_over: Memo<bool>) -> impl IntoView {
    let text = use_language();
    move || {
        if !is_over.get() {
            let words = move || thought.with(|thought| thought.as_ref().map(|thought| thought.told.text.clone()));
            return view! { <pre tabindex="0">{words}</pre> }.into_any();
        }
        thought
            .with(|thought| {
                thought.as_ref().map(|thought| {
                    let note =
                        thought.told.truncated.then(|| view! { <p class="tool-note">{text.reasoning_cut()}</p> });
                    view! { <LongText content=thought.told.text.clone() all=RwSignal::new(false) />{note} }
                })
            })
            .into_any()
    }
}

/// What the line says.
pub(crate) fn heading(thought: &Thinking, text: Language) -> String {
    match thought.told.duration_ms {
        _ if !thought.is_over => text.thinking().to_owned(),
        Some(ms) => text.reasoned_for(&format::duration(text, ms)),
        None => text.reasoning().to_owned(),
    }
}
