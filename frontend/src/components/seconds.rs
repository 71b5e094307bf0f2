//! Counting seconds for those who wait.

use std::time::Duration;

use futures_util::future::abortable;
use leptos::{prelude::*, task::spawn_local};

use crate::{
    browser,
    reactive::{effect, memo},
};

/// The seconds since `counts` became true, as they pass; 0 while it is false.
pub(crate) fn use_seconds(counts: impl Fn() -> bool + Send + Sync + 'static) -> ReadSignal<u64> {
    let (seconds, set_seconds) = signal(0_u64);
    let counts = memo(move |_| counts());
    // Effects run in a browser alone.
    effect(move || {
        if !counts.get() {
            return;
        }
        set_seconds.set(0);
        let (ticking, handle) = abortable(async move {
            loop {
                browser::sleep(Duration::from_secs(1)).await;
                set_seconds.update(|seconds| *seconds += 1);
            }
        });
        on_cleanup(move || handle.abort());
        spawn_local(async move {
            // `Err` says that it was aborted, which is how it ends.
            let _ = ticking.await;
        });
    });
    seconds
}
