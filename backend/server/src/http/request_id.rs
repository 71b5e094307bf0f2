//! The id of the request that is being answered, for whatever cannot see the request itself.

use std::future::Future;

use uuid::Uuid;

tokio::task_local! {
    static REQUEST_ID: Uuid;
}

/// Answers a request under this id.
pub(super) fn scope<F: Future>(id: Uuid, answering: F) -> impl Future<Output = F::Output> {
    REQUEST_ID.scope(id, answering)
}

/// The id of the request that is being answered; nil outside one.
pub(super) fn current() -> Uuid {
    REQUEST_ID.try_with(|id| *id).unwrap_or_default()
}
