//! Building the page part by part while a browser takes it over, each part in a task of its own: what is done meanwhile on a slow
//! processor waits for one part, and not for the page.

use std::{cell::RefCell, collections::VecDeque};

use futures_channel::oneshot;
use leptos::prelude::*;

thread_local! {
    /// The parts that are still to be built, by what has them built; nothing once the page was taken over, and on a server.
    static TURNS: RefCell<Option<VecDeque<RwSignal<bool>>>> = const { RefCell::new(None) };
    /// Who waits for the page to be in its place.
    static WAITING: RefCell<Vec<oneshot::Sender<()>>> = const { RefCell::new(Vec::new()) };
}

/// From now on, parts wait for their turn.
#[cfg(feature = "browser")]
pub(crate) fn begin() {
    TURNS.set(Some(VecDeque::new()));
}

/// Whose turn it is, and whether others follow; nothing when all are built, and from then on parts are built at once.
#[cfg(feature = "browser")]
pub(crate) fn next() -> Option<(RwSignal<bool>, bool)> {
    TURNS.with_borrow_mut(|turns| {
        let next = turns.as_mut().and_then(VecDeque::pop_front);
        if next.is_none() {
            *turns = None;
        }
        next.map(|next| (next, turns.as_ref().is_some_and(|turns| !turns.is_empty())))
    })
}

/// Tells that the page is in its place.
#[cfg(feature = "browser")]
pub(crate) fn end() {
    for waiting in WAITING.take() {
        // Whoever waited may be gone.
        let _ = waiting.send(());
    }
}

/// Waits, when a browser takes the page over just now, until it is in its place.
pub(crate) fn in_place() -> impl Future<Output = ()> {
    let placed = TURNS.with_borrow(Option::is_some).then(|| {
        let (tell, told) = oneshot::channel();
        WAITING.with_borrow_mut(|waiting| waiting.push(tell));
        told
    });
    async move {
        if let Some(placed) = placed {
            // It is told once, or the page is gone.
            let _ = placed.await;
        }
    }
}

/// A part that is built in its turn.
pub(crate) fn in_turn(part: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    let is_due = TURNS.with_borrow_mut(|turns| {
        let turns = turns.as_mut()?;
        let is_due = RwSignal::new(false);
        turns.push_back(is_due);
        Some(is_due)
    });
    match is_due {
        None => part(),
        Some(is_due) => when_due(is_due, Box::new(part)),
    }
}

fn when_due(is_due: RwSignal<bool>, part: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
    (move || is_due.get().then(&part)).into_any()
}
