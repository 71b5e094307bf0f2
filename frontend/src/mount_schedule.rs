//! Scheduler of the mount: the browser builds the page part by part, each in a task of its own. On a slow device,
//! user input then waits for one part instead of the whole page. The parts that the user came for are built first,
//! then the page is interactive. The server's HTML of the other parts stays until their code has loaded.

use std::{cell::RefCell, collections::VecDeque};

use futures_channel::oneshot;
use leptos::{prelude::*, task::tick};

use crate::browser;

#[derive(Default)]
struct Schedule {
    /// Signals of the parts to build before the page is attached. Setting one builds its part.
    first: VecDeque<RwSignal<bool>>,
    /// Actions to run once the page is attached.
    then: Vec<Box<dyn FnOnce()>>,
}

/// A part to build after the page is attached.
struct DeferredPart {
    /// ID of the part's element, in the server-rendered page as well.
    id: &'static str,
    /// Setting this signal builds the part.
    is_due: RwSignal<bool>,
}

thread_local! {
    /// The parts that are not built yet; `None` once the page is attached, and on the server.
    static SCHEDULE: RefCell<Option<Schedule>> = const { RefCell::new(None) };
    /// The parts to build after the page is attached.
    static DEFERRED: RefCell<Vec<DeferredPart>> = const { RefCell::new(Vec::new()) };
}

/// Starts the schedule: from now on, parts wait until they are due.
#[cfg(feature = "browser")]
pub(crate) fn begin() {
    SCHEDULE.set(Some(Schedule::default()));
}

/// Returns the signal of the next part to build before the page is attached.
#[cfg(feature = "browser")]
pub(crate) fn next() -> Option<RwSignal<bool>> {
    SCHEDULE.with_borrow_mut(|schedule| schedule.as_mut()?.first.pop_front())
}

/// Returns the IDs of the parts to build after the page is attached.
#[cfg(feature = "browser")]
pub(crate) fn deferred_ids() -> Vec<&'static str> {
    DEFERRED.with_borrow(|deferred| deferred.iter().map(|part| part.id).collect())
}

/// Builds the deferred parts, once the page is attached, and replaces the server's. Call this when their code has
/// loaded.
pub(crate) async fn build_deferred() {
    in_place().await;
    for DeferredPart { id, is_due } in DEFERRED.take() {
        browser::next_task().await;
        browser::released().await;
        let drawn = browser::DrawnPart::find(id);
        is_due.try_set(true);
        tick().await;
        if let Some(drawn) = drawn {
            drawn.replace();
        }
        browser::replay_presses();
    }
}

/// Ends the schedule, once the page is attached: from now on, parts are built at once.
#[cfg(feature = "browser")]
pub(crate) fn end() {
    if let Some(Schedule { first, then, .. }) = SCHEDULE.take() {
        for is_due in first {
            is_due.try_set(true);
        }
        for act in then {
            act();
        }
    }
}

/// Runs `act` in the next frame after the page is attached. Before that, its elements have no layout and cannot
/// take the focus. Does nothing on the server, which has no frames but may call this when it disposes of a rendered
/// page.
pub(crate) fn in_next_frame(act: impl FnOnce() + 'static) {
    if !browser::IS_HERE {
        return;
    }
    let act: Box<dyn FnOnce()> = Box::new(act);
    when_in_place(Box::new(move || request_animation_frame(act)));
}

/// Waits until the page is attached, if the mount is under way.
pub(crate) fn in_place() -> impl Future<Output = ()> {
    let (sender, attached) = oneshot::channel::<()>();
    when_in_place(Box::new(move || drop(sender)));
    async move {
        // Dropping the sender is the only signal.
        let _ = attached.await;
    }
}

fn when_in_place(act: Box<dyn FnOnce()>) {
    let act = SCHEDULE.with_borrow_mut(|schedule| {
        let Some(schedule) = schedule else { return Some(act) };
        schedule.then.push(act);
        None
    });
    if let Some(act) = act {
        act();
    }
}

/// Adds a part to build before the page is attached.
pub(crate) fn scheduled(part: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    when_due(|schedule, is_due| schedule.first.push_back(is_due), Box::new(part))
}

/// Adds a part that [`build_deferred`] builds. It is an element with this ID.
pub(crate) fn deferred(id: &'static str, part: impl Fn() -> AnyView + Send + 'static) -> AnyView {
    let add =
        |_: &mut Schedule, is_due| DEFERRED.with_borrow_mut(|deferred| deferred.push(DeferredPart { id, is_due }));
    when_due(add, Box::new(part))
}

fn when_due(queue: impl FnOnce(&mut Schedule, RwSignal<bool>), part: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
    let is_due = SCHEDULE.with_borrow_mut(|schedule| {
        let is_due = RwSignal::new(false);
        queue(schedule.as_mut()?, is_due);
        Some(is_due)
    });
    match is_due {
        None => part(),
        Some(is_due) => (move || is_due.get().then(|| untrack(&part))).into_any(),
    }
}
