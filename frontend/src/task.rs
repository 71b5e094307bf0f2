//! Tasks that end when whoever began them says so.

use futures_util::future::{AbortHandle, abortable};
use leptos::task::spawn_local;

/// Runs `task` until it ends or is aborted. An aborted task is never polled again, so it touches no signal that is gone,
/// and its connection closes as it is dropped.
pub(crate) fn spawn(task: impl Future<Output = ()> + 'static) -> AbortHandle {
    let (task, handle) = abortable(task);
    spawn_local(async move {
        // `Err` says that it was aborted, which is how it should end then.
        let _ = task.await;
    });
    handle
}
