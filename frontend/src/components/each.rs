//! A list whose lines keep their place in the page: `Each` is used as Leptos' `For`, which it is behind one type. `For` is
//! compiled anew for each list, and it is large.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

use leptos::prelude::*;

/// A line that is drawn if it is new.
struct Line {
    key: u64,
    draw: Box<dyn FnOnce() -> AnyView + Send>,
}

/// One child for each item; a child stays as it is while there is an item with its key.
#[component]
pub(crate) fn Each<T, I, K, V>(
    /// The items, read again when what they are made of changes.
    each: impl Fn() -> I + Send + 'static,
    /// What makes an item the same one.
    key: impl Fn(&T) -> K + Send + 'static,
    /// Draws an item.
    children: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Send + 'static,
    I: IntoIterator<Item = T>,
    K: Hash,
    V: IntoView + 'static,
{
    let children = Arc::new(children);
    let lines = move || {
        let line = |item| {
            let key = hash_of(&key(&item));
            let children = Arc::clone(&children);
            Line { key, draw: Box::new(move || children(item).into_any()) }
        };
        each().into_iter().map(line).collect()
    };
    list(Box::new(lines))
}

fn list(lines: Box<dyn Fn() -> Vec<Line> + Send>) -> AnyView {
    view! { <For each=lines key=|line| line.key children=|line: Line| (line.draw)() /> }.into_any()
}

/// Of 64 bits, so that two lines of one list are never taken for each other.
fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
