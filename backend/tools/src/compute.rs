//! Runs computations on blocking threads, apart from the threads that serve requests. A running computation cannot be
//! aborted, so their number is limited here, even if the calls that started them have ended.

use std::panic::resume_unwind;

use tokio::{sync::Semaphore, task::spawn_blocking};

use super::ToolError;

/// Limits the number of concurrent computations of all calls. Further computations wait, and the wait counts toward the
/// call's timeout.
static COMPUTE_PERMITS: Semaphore = Semaphore::const_new(16);

/// Runs a computation that takes more than a millisecond. It keeps its permit until it ends, even after its call's
/// timeout, so repeated calls cannot start unlimited threads. A panic in `work` becomes a panic of the call.
pub(crate) async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    compute_in(&COMPUTE_PERMITS, work).await
}

async fn compute_in<T: Send + 'static>(
    places: &'static Semaphore,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let failed = |cause: &dyn std::fmt::Display| ToolError::other("computation_failed", cause.to_string());
    let place = places.acquire().await.map_err(|closed| failed(&closed))?;
    let task = spawn_blocking(move || {
        let _place = place;
        work()
    });
    match task.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(cancelled) => Err(failed(&cancelled)),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt as _;
    use tokio::sync::Semaphore;

    use super::compute_in;

    static ONE: Semaphore = Semaphore::const_new(1);

    #[tokio::test]
    async fn a_computation_keeps_its_slot_until_it_ends() {
        let (finish, stop) = mpsc::channel();
        let call = compute_in(&ONE, move || Ok(stop.recv().is_ok()));
        assert!(call.now_or_never().is_none(), "the call's time is up at once");
        let mut next = Box::pin(compute_in(&ONE, || Ok(7)));
        assert!((&mut next).now_or_never().is_none(), "the place is taken");
        finish.send(()).unwrap();
        assert_eq!(next.await, Ok(7));
    }
}
