//! Effects and memos with boxed closures. Leptos's own functions are generic, and the large code behind them would be
//! compiled again for each closure type.

use leptos::prelude::{Effect, Memo};

/// Creates an effect, as Leptos's `Effect::new` does. The closure does not get the value of its last run.
pub(crate) fn effect(act: impl Fn() + 'static) {
    run(Box::new(act));
}

fn run(act: Box<dyn Fn()>) {
    Effect::new(act);
}

/// Creates a memo, as Leptos's `Memo::new` does.
pub(crate) fn memo<T: PartialEq + Send + Sync + 'static>(
    value: impl Fn(Option<&T>) -> T + Send + Sync + 'static,
) -> Memo<T> {
    remember(Box::new(value))
}

type Compute<T> = Box<dyn Fn(Option<&T>) -> T + Send + Sync>;

fn remember<T: PartialEq + Send + Sync + 'static>(value: Compute<T>) -> Memo<T> {
    Memo::new(value)
}
