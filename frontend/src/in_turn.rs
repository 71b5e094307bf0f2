//! Building the page part by part while a browser takes it over, each part in a task of its own: what is done meanwhile on a slow
//! processor waits for one part, and not for the page. What one came for is built first, and then the page is alive; around it, what
//! the server drew stands until its turn comes.

#[cfg(feature = "browser")]
use std::mem::take;
use std::{cell::RefCell, collections::VecDeque};

use futures_channel::oneshot;
use leptos::prelude::*;

#[derive(Default)]
struct Turns {
    /// What is built before the page is put in its place, by what has it built.
    first: VecDeque<RwSignal<bool>>,
    /// What is built after that.
    around: Vec<Around>,
}

/// A part around what one came for.
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server builds everything at once"))]
pub(crate) struct Around {
    /// The id of its element, and of the one that the server drew.
    pub(crate) id: &'static str,
    /// What has it built.
    pub(crate) is_due: RwSignal<bool>,
}

thread_local! {
    /// The parts that are still to be built; nothing once the page was taken over, and on a server.
    static TURNS: RefCell<Option<Turns>> = const { RefCell::new(None) };
    /// Who waits for the page to be in its place.
    static WAITING: RefCell<Vec<oneshot::Sender<()>>> = const { RefCell::new(Vec::new()) };
}

/// From now on, parts wait for their turn.
#[cfg(feature = "browser")]
pub(crate) fn begin() {
    TURNS.set(Some(Turns::default()));
}

/// Whose turn it is of what is built first, and whether others follow; nothing when all are built, and from then on parts are built at
/// once.
#[cfg(feature = "browser")]
pub(crate) fn next() -> Option<(RwSignal<bool>, bool)> {
    TURNS.with_borrow_mut(|turns| {
        let next = turns.as_mut().and_then(|turns| turns.first.pop_front());
        if next.is_none() {
            *turns = None;
        }
        next.map(|next| (next, turns.as_ref().is_some_and(|turns| !turns.first.is_empty())))
    })
}

/// What is to be built around that.
#[cfg(feature = "browser")]
pub(crate) fn take_around() -> Vec<Around> {
    TURNS.with_borrow_mut(|turns| turns.as_mut().map(|turns| take(&mut turns.around)).unwrap_or_default())
}

/// Tells that the page is in its place.
#[cfg(feature = "browser")]
pub(crate) fn end() {
    // Each receiver hears that its sender is gone.
    WAITING.take();
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
            // The end of its sender is all that there is to be told.
            let _ = placed.await;
        }
    }
}

/// A part that is built in its turn, before the page is put in its place.
pub(crate) fn in_turn(part: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    when_due(|turns, is_due| turns.first.push_back(is_due), Box::new(part))
}

/// A part around what one came for, which is an element with this id.
pub(crate) fn around(id: &'static str, part: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    when_due(|turns, is_due| turns.around.push(Around { id, is_due }), Box::new(part))
}

fn when_due(queue: impl FnOnce(&mut Turns, RwSignal<bool>), part: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
    let is_due = TURNS.with_borrow_mut(|turns| {
        let is_due = RwSignal::new(false);
        queue(turns.as_mut()?, is_due);
        Some(is_due)
    });
    match is_due {
        None => part(),
        Some(is_due) => (move || is_due.get().then(&part)).into_any(),
    }
}
