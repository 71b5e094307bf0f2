//! The servers under test, and retries while servers are killed.

use std::time::Duration;

use anyhow::{Result, bail};
use reqwest::{Client, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

/// Timeout for retries: maximum time without an answer from any server.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Pause before a retry.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// The servers under test. Turns use them in rotation.
pub(crate) struct Servers {
    pub(super) client: Client,
    pub(super) urls: Vec<String>,
    /// `true` if servers are killed during the test. Then requests are retried, and interrupted answers are resumed.
    pub(super) disturbed: bool,
    /// `true` if the servers have the `witness` tool.
    pub(super) has_witness: bool,
}

impl Servers {
    /// Returns the server for a turn. A reader uses the next server on each of its reconnects (`visit`).
    pub(super) fn url(&self, number: usize, visit: usize) -> &str {
        &self.urls[(number + visit) % self.urls.len()]
    }

    /// Sends a request. If servers are killed during the test, retries until one of them answers.
    pub(super) async fn send(&self, request: impl Fn(&Client) -> RequestBuilder) -> Result<Response> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let answer = request(&self.client).send().await;
            let is_away = answer.as_ref().map_or(true, |response| response.status().is_server_error());
            if !self.disturbed || !is_away {
                return Ok(answer?);
            }
            if Instant::now() >= until {
                match answer {
                    Ok(response) => {
                        bail!("the servers keep returning {}: {}", response.status(), response.text().await?)
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads a response body as JSON. If servers are killed during the test, retries if the body is aborted.
    pub(super) async fn read<T: DeserializeOwned>(&self, url: &str) -> Result<T> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let response = self.send(|client| client.get(url)).await?.error_for_status()?;
            match response.json().await {
                Err(_) if self.disturbed && Instant::now() < until => sleep(PAUSE).await,
                read => return Ok(read?),
            }
        }
    }
}
