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
    transcript::{Item, ItemKey, ReasoningPart},
};

/// The text as it comes, or complete.
#[component]
pub(crate) fn ReasoningText(key: ItemKey, entry: OptionalEntry) -> impl IntoView {
    let text = use_language();
    let part = memo(move |_| {
        read(entry, |entry| {
            let item = entry.items.iter().find(|item| item.key() == key);
            item.and_then(Item::as_reasoning).cloned()
        })
    });
    let is_over =
        memo(move |_| part.with(|part: &Option<Arc<ReasoningPart>>| part.as_ref().is_none_or(|part| part.is_over)));
    let content = move || {
        if !is_over.get() {
            let words = move || part.with(|part| part.as_ref().map(|part| part.content.text.clone()));
            return view! { <pre tabindex="0">{words}</pre> }.into_any();
        }
        let complete = part.with(|part| {
            part.as_ref().map(|part| {
                let note = part.content.truncated.then(|| view! { <p class="tool-note">{text.reasoning_cut()}</p> });
                view! { <LongText content=part.content.text.clone() all=RwSignal::new(false) />{note} }
            })
        });
        complete.into_any()
    };
    view! {
        <div class="reasoning-words" id=reasoning_id(key) dir="auto" data-testid="thought-words">{content}</div>
    }
    .into_any()
}
