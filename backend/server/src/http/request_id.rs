//! The id of the current request, for code that cannot see the request itself.

use std::future::Future;

use uuid::Uuid;

tokio::task_local! {
    static REQUEST_ID: Uuid;
}

/// Runs the handling of a request under this id.
pub(crate) fn scope<F: Future>(id: Uuid, answering: F) -> impl Future<Output = F::Output> {
    REQUEST_ID.scope(id, answering)
}

/// Returns the id of the current request; nil outside of a request.
pub(crate) fn current() -> Uuid {
    REQUEST_ID.try_with(|id| *id).unwrap_or_default()
}
