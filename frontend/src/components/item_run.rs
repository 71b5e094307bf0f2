//! Items that stand next to each other in an answer: each has a line, and the finished ones fold under a line of their own.
//! All lines stay in the page while they fold and unfold, so that what a reader did with one is not lost.

use leptos::prelude::*;

use crate::{
    components::{
        each::Each,
        items::{Items, Lines},
        shown::read,
        thought::Thought,
        tool_call::ToolCall,
        tool_group::ToolGroup,
    },
    reactive::memo,
    transcript::{ItemKey, Line, lines},
};

/// The items that begin with `first` and have no text between them.
#[component]
pub(crate) fn ItemRun(first: ItemKey, items: Items) -> impl IntoView {
    let lines: Lines =
        memo(move |_| items.places.with(|places| read(items.shown.entry, |entry| lines(&places.run(first, entry)))));
    view! {
        // Each call that is not over speaks for itself.
        <div class="tools" aria-live="off">
            <Each
                each=move || lines.get()
                key=LineKey::of
                children=move |line| match LineKey::of(&line) {
                    LineKey::Group(first) => view! { <ToolGroup first lines items /> }.into_any(),
                    LineKey::Item(ItemKey::Call(id)) => view! { <ToolCall id lines items /> }.into_any(),
                    LineKey::Item(key @ ItemKey::Thought(..)) => view! { <Thought key lines items /> }.into_any(),
                }
            />
        </div>
    }
    .into_any()
}

/// What makes a line the same one while items end and groups grow.
#[derive(PartialEq, Eq, Hash)]
enum LineKey {
    /// By its first item, which a group is never without.
    Group(Option<ItemKey>),
    Item(ItemKey),
}

impl LineKey {
    fn of(line: &Line) -> Self {
        match line {
            Line::Group(group) => Self::Group(group.keys.first().copied()),
            Line::Item { key, .. } => Self::Item(*key),
        }
    }
}
