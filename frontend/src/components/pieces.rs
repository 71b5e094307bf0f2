//! The pieces of an answer, or of one step of its plan: Markdown, and items between.

use leptos::prelude::*;

use crate::{
    components::{item_run::ItemRun, items::Items, prose::Prose, shown::read},
    language::{Language, use_language},
    markdown::Stretch,
    reactive::memo,
    transcript::{Entry, ItemKey, Segment},
};

/// What makes a piece the same one while its text grows.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Key {
    TextFrom(usize),
    /// By the first item, which a run is never without.
    ItemsFrom(Option<ItemKey>),
    Plan,
}

impl Key {
    pub(crate) fn of(piece: &Segment) -> Self {
        match piece {
            Segment::Plan => Self::Plan,
            Segment::Text(range) => Self::TextFrom(range.start),
            Segment::Items(keys) => Self::ItemsFrom(keys.first().copied()),
        }
    }
}

/// Draws a piece. The plan is drawn where the whole answer is, since its steps have pieces of their own.
pub(crate) fn piece_view(items: Items, piece: &Segment) -> AnyView {
    match Key::of(piece) {
        Key::TextFrom(start) => {
            let text = use_language();
            let end = move || items.places.with(|places| places.end_of(start));
            let stretch = memo(move |_| read(items.shown.entry, |entry| stretch_from(entry, start, end(), text)));
            view! { <Prose stretch /> }.into_any()
        }
        Key::ItemsFrom(first) => first.map(|first| view! { <ItemRun first items /> }).into_any(),
        Key::Plan => ().into_any(),
    }
}

fn stretch_from(entry: &Entry, start: usize, end: Option<usize>, language: Language) -> Stretch {
    let text = end.and_then(|end| entry.text.get(start..end)).unwrap_or_default().to_owned();
    // Text with an item after it does not grow, nor does that of a step that has ended.
    let grows = entry.is_streaming() && start >= entry.grows_from() && end.is_none_or(|end| end == entry.text.len());
    let complete = !grows;
    Stretch { message: entry.id, start, text, complete, language }
}
