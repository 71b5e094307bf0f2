//! Effects and memos behind one type each: what Leptos makes of a closure is compiled anew for each type of closure, and it
//! is large.

use leptos::prelude::{Effect, Memo};

/// Leptos' `Effect::new`, for what needs nothing of its last run.
pub(crate) fn effect(act: impl Fn() + 'static) {
    run(Box::new(act));
}

fn run(act: Box<dyn Fn()>) {
    Effect::new(act);
}

/// Leptos' `Memo::new`.
pub(crate) fn memo<T: PartialEq + Send + Sync + 'static>(
    value: impl Fn(Option<&T>) -> T + Send + Sync + 'static,
) -> Memo<T> {
    remember(Box::new(value))
}

type Value<T> = Box<dyn Fn(Option<&T>) -> T + Send + Sync>;

fn remember<T: PartialEq + Send + Sync + 'static>(value: Value<T>) -> Memo<T> {
    Memo::new(value)
}
