//! A keyed list. `Each` works like Leptos' `For`, behind one type: `For` is large, and would be compiled again for each
//! list.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

use leptos::prelude::*;

/// Renders a line if it is new.
struct EachItem {
    key: u64,
    draw: Box<dyn FnOnce() -> AnyView + Send>,
}

/// Renders one child for each item. A child stays as long as there is an item with its key.
#[component]
pub(crate) fn Each<T, I, K, V>(
    /// The items, read again when their signals change.
    each: impl Fn() -> I + Send + 'static,
    /// Returns the key of an item.
    key: impl Fn(&T) -> K + Send + 'static,
    /// Renders an item.
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
            EachItem { key, draw: Box::new(move || children(item).into_any()) }
        };
        each().into_iter().map(line).collect()
    };
    list(Box::new(lines))
}

fn list(lines: Box<dyn Fn() -> Vec<EachItem> + Send>) -> AnyView {
    view! { <For each=lines key=|line| line.key children=|line: EachItem| (line.draw)() /> }.into_any()
}

/// Hashes a key to 64 bits, so that two lines of a list practically never collide.
fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
