//! Tasks that can be aborted.

use futures_util::future::{AbortHandle, abortable};
use leptos::task::spawn_local;

/// Runs `task` until it ends or is aborted. An aborted task is never polled again, so it cannot use a disposed
/// signal, and its connection closes when it is dropped.
pub(crate) fn spawn(task: impl Future<Output = ()> + 'static) -> AbortHandle {
    let (task, handle) = abortable(task);
    spawn_local(async move {
        // `Err` means that the task was aborted, which is expected.
        let _ = task.await;
    });
    handle
}
