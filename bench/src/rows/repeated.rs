//! Measures the time of a request that is repeated.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::time::timeout;

use super::first_token::milliseconds;
use crate::report::median;

/// Timeout of one request, or of all pages of a search.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Returns the median time of `rounds` requests, in milliseconds. An additional first request warms the server up.
pub(super) async fn median_time(rounds: usize, request: impl AsyncFn() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for round in 0..=rounds {
        let asked = Instant::now();
        timeout(TIMEOUT, request()).await.context("a request took too long")??;
        if round > 0 {
            times.push(milliseconds(asked.elapsed()));
        }
    }
    Ok(median(&mut times))
}
