//! Building the page part by part while a browser takes it over, each part in a task of its own: what is done meanwhile on a slow
//! processor waits for one part, and not for the page. What one came for is built first, and then the page is alive; around it, what
//! the server drew stands until its turn comes.

#[cfg(feature = "browser")]
use std::mem::take;
use std::{cell::RefCell, collections::VecDeque};

use futures_channel::oneshot;
use leptos::prelude::*;

use crate::browser;

#[derive(Default)]
struct Turns {
    /// What is built before the page is put in its place, by what has it built.
    first: VecDeque<RwSignal<bool>>,
    /// What is built after that.
    around: Vec<Around>,
    /// What is done as soon as the page is in its place.
    then: Vec<Box<dyn FnOnce()>>,
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
}

/// From now on, parts wait for their turn.
#[cfg(feature = "browser")]
pub(crate) fn begin() {
    TURNS.set(Some(Turns::default()));
}

/// Whose turn it is of what is built first.
#[cfg(feature = "browser")]
pub(crate) fn next() -> Option<RwSignal<bool>> {
    TURNS.with_borrow_mut(|turns| turns.as_mut()?.first.pop_front())
}

/// What is to be built around that.
#[cfg(feature = "browser")]
pub(crate) fn take_around() -> Vec<Around> {
    TURNS.with_borrow_mut(|turns| turns.as_mut().map(|turns| take(&mut turns.around)).unwrap_or_default())
}

/// The page is in its place, and from now on parts are built at once.
#[cfg(feature = "browser")]
pub(crate) fn end() {
    if let Some(Turns { first, then, .. }) = TURNS.take() {
        for is_due in first {
            is_due.try_set(true);
        }
        for act in then {
            act();
        }
    }
}

/// Does it in the next frame that has the page in its place: out of that nothing is laid out, and nothing takes the focus. A
/// server has no frames, and does nothing: what it takes down once it is drawn may ask for one.
pub(crate) fn in_next_frame(act: impl FnOnce() + 'static) {
    if !browser::IS_HERE {
        return;
    }
    let act: Box<dyn FnOnce()> = Box::new(act);
    when_in_place(Box::new(move || request_animation_frame(act)));
}

/// Waits, when a browser takes the page over just now, until it is in its place.
pub(crate) fn in_place() -> impl Future<Output = ()> {
    let (tell, told) = oneshot::channel::<()>();
    when_in_place(Box::new(move || drop(tell)));
    async move {
        // The end of its sender is all that there is to be told.
        let _ = told.await;
    }
}

fn when_in_place(act: Box<dyn FnOnce()>) {
    let act = TURNS.with_borrow_mut(|turns| {
        let Some(turns) = turns else { return Some(act) };
        turns.then.push(act);
        None
    });
    if let Some(act) = act {
        act();
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
        Some(is_due) => (move || is_due.get().then(|| untrack(&part))).into_any(),
    }
}
