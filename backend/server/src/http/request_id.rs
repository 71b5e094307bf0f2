//! The ID of the current request, for code that has no access to the request.

use std::future::Future;

use uuid::Uuid;

tokio::task_local! {
    static REQUEST_ID: Uuid;
}

/// Runs `answering`, which handles the request with this ID.
pub(crate) fn scope<F: Future>(id: Uuid, answering: F) -> impl Future<Output = F::Output> {
    REQUEST_ID.scope(id, answering)
}

/// Returns the ID of the current request; the nil UUID outside of a request.
pub(crate) fn current() -> Uuid {
    REQUEST_ID.try_with(|id| *id).unwrap_or_default()
}
