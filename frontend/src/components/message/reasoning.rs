//! The text of a model's reasoning in one step, which is plain text and never Markdown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    components::message::{
        long_text::LongText,
        shown::{OptionalEntry, read},
    },
    language::use_language,
    message::reasoning_id,
    reactive::memo,
    transcript::{Item, ItemKey, Thought},
};

/// The text as it comes, or complete.
#[component]
pub(crate) fn ReasoningText(key: ItemKey, entry: OptionalEntry) -> impl IntoView {
    let text = use_language();
    let thought = memo(move |_| {
        read(entry, |entry| {
            let item = entry.items.iter().find(|item| item.key() == key);
            item.and_then(Item::as_thought).cloned()
        })
    });
    let is_over = memo(move |_| {
        thought.with(|thought: &Option<Arc<Thought>>| thought.as_ref().is_none_or(|thought| thought.is_over))
    });
    let content = move || {
        if !is_over.get() {
            let words = move || thought.with(|thought| thought.as_ref().map(|thought| thought.told.text.clone()));
            return view! { <pre tabindex="0">{words}</pre> }.into_any();
        }
        let complete = thought.with(|thought| {
            thought.as_ref().map(|thought| {
                let note = thought.told.truncated.then(|| view! { <p class="tool-note">{text.reasoning_cut()}</p> });
                view! { <LongText content=thought.told.text.clone() all=RwSignal::new(false) />{note} }
            })
        });
        complete.into_any()
    };
    view! {
        <div class="thought-words" id=reasoning_id(key) dir="auto" data-testid="thought-words">{content}</div>
    }
    .into_any()
}
