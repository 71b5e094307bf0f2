//! Sends a turn as a browser does, and reads it to its end. Measures when its tokens arrived.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::StreamExt as _;
use reqwest::{Client, RequestBuilder};
use tokio::time::{Instant, timeout};

use crate::mark;

/// Timeout of a turn.
const TURN_TIME: Duration = Duration::from_mins(3);

/// Maximum size of the part of an incomplete answer that an error shows, in bytes.
const SHOWN_BYTES: usize = 600;

/// Measurements of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Time from the request to the first token.
    pub(crate) first: Duration,
    /// For each token, the time on its way from the model to here.
    pub(crate) transits: Vec<Duration>,
}

/// Creates a client that keeps its connections, as browsers do.
pub(crate) fn client() -> Result<Client> {
    let client = Client::builder().tcp_nodelay(true).no_proxy().pool_max_idle_per_host(usize::MAX);
    client.build().context("cannot create a client")
}

/// Sends the request and reads the answer to its end. Returns an error if fewer than `tokens` tokens arrive.
pub(crate) async fn ask(request: RequestBuilder, tokens: usize) -> Result<Seen> {
    timeout(TURN_TIME, read(request, tokens)).await.context("a turn did not end")?
}

async fn read(request: RequestBuilder, tokens: usize) -> Result<Seen> {
    let began = Instant::now();
    let response = request.send().await?;
    let status = response.status();
    if !status.is_success() {
        bail!("the answer is {status}: {}", response.text().await?);
    }
    let mut chunks = response.bytes_stream();
    let (mut marks, mut seen) = (mark::Reader::default(), Seen::default());
    let mut last = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        let now = mark::now();
        marks.read(&chunk, |sent| {
            // The end of an answer repeats its text.
            if seen.transits.len() == tokens {
                return;
            }
            if seen.transits.is_empty() {
                seen.first = began.elapsed();
            }
            seen.transits.push(Duration::from_nanos(now.saturating_sub(sent)));
        });
        last = chunk.to_vec();
    }
    if seen.transits.len() < tokens {
        let tail = String::from_utf8_lossy(&last[last.len().saturating_sub(SHOWN_BYTES)..]).into_owned();
        bail!("{} of {tokens} tokens arrived, then: {tail}", seen.transits.len());
    }
    Ok(seen)
}
