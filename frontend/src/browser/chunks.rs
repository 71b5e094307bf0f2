//! Loads WASM chunks, with retries.

use std::time::Duration;

use super::{show_load_error, sleep};

/// Number of attempts to load a chunk while it is needed, with pauses of 2, 4, 8 … seconds between.
const ATTEMPTS: u32 = 6;

/// Loads a chunk: calls `attempt` until it returns `Some`, or until the chunk is no longer wanted. If that takes long,
/// the page says so.
pub(crate) async fn load_chunk<T>(attempt: impl AsyncFn() -> Option<T>, is_wanted: impl Fn() -> bool) -> Option<T> {
    for number in 1..=ATTEMPTS {
        if let Some(loaded) = attempt().await {
            show_load_error(false);
            return Some(loaded);
        }
        if !is_wanted() {
            break;
        }
        show_load_error(true);
        sleep(Duration::from_secs(1 << number)).await;
    }
    None
}
