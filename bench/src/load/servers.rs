//! Where the turns go, and how a client goes on where servers are killed meanwhile.

use std::time::Duration;

use anyhow::{Result, bail};
use reqwest::{Client, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

/// How long a server may be away before the next one answers for it.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause before a request is made again.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// Where the turns go: to each address in turn.
pub(crate) struct Servers {
    pub(super) client: Client,
    pub(super) urls: Vec<String>,
    /// Whether servers are killed meanwhile, so that what they were asked is asked again, and answers that they wrote go on.
    pub(super) disturbed: bool,
    /// Whether they have the tool of `witness`.
    pub(super) has_witness: bool,
}

impl Servers {
    /// The address for the turn of this number, and of its reader when that comes back for the time `visit`.
    pub(super) fn url(&self, number: usize, visit: usize) -> &str {
        &self.urls[(number + visit) % self.urls.len()]
    }

    /// Makes a request; where servers are killed meanwhile, again until one answers it.
    pub(super) async fn send(&self, request: impl Fn(&Client) -> RequestBuilder) -> Result<Response> {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = request(&self.client).send().await;
            let is_away = answer.as_ref().map_or(true, |response| response.status().is_server_error());
            if !self.disturbed || !is_away {
                return Ok(answer?);
            }
            if Instant::now() >= until {
                match answer {
                    Ok(response) => {
                        bail!("the servers go on answering {}: {}", response.status(), response.text().await?)
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads something whole; where servers are killed meanwhile, again when it breaks off.
    pub(super) async fn read<T: DeserializeOwned>(&self, url: &str) -> Result<T> {
        let until = Instant::now() + PATIENCE;
        loop {
            let response = self.send(|client| client.get(url)).await?.error_for_status()?;
            match response.json().await {
                Err(_) if self.disturbed && Instant::now() < until => sleep(PAUSE).await,
                read => return Ok(read?),
            }
        }
    }
}
