//! Answers that go on: the events of a turn, and the feed.

use std::time::Duration;

use tallybook_protocol::{
    FeedEvent, PAGE_HEADER,
    sse::{Decoder, Frame, KEEP_ALIVE_HEADER},
};

use super::{
    error::ApiError,
    request::{NO_BODY, request},
};
use crate::{
    browser::{self, Body, Response},
    reading::{self, Events},
};

/// The keep-alive interval of a server that does not say it.
const DEFAULT_KEEP_ALIVE_SECS: u64 = 5;
/// The longest keep-alive interval that is believed.
const MAX_KEEP_ALIVE_SECS: u64 = 60;
/// A connection that misses so many keep-alives is dead.
const MISSED_KEEP_ALIVES: u64 = 3;
/// How long the server may take to close a stream that is over.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);

/// Server-sent events, as they arrive.
struct Frames {
    body: Body,
    decoder: Decoder,
    arrived: Vec<Frame>,
    /// A stream that is silent for longer is dead.
    silence_limit: Duration,
}

impl Frames {
    fn new(response: Response) -> Result<Self, ApiError> {
        let silence_limit = silence_limit(response.header(KEEP_ALIVE_HEADER).as_deref());
        Ok(Self { body: response.into_body()?, decoder: Decoder::new(), arrived: Vec::new(), silence_limit })
    }

    /// What has arrived, at least one frame; `None` when the stream ended or broke off.
    async fn next(&mut self) -> Option<Vec<Frame>> {
        while self.arrived.is_empty() {
            let portion = browser::within(self.silence_limit, self.body.next()).await?.ok()??;
            self.arrived.extend(self.decoder.push(&portion).ok()?);
        }
        Some(std::mem::take(&mut self.arrived))
    }
}

/// Calculates how long a stream may be silent from the keep-alive interval that its server sent. Never shorter than three
/// default intervals: a short interval says nothing about a slow network.
fn silence_limit(keep_alive: Option<&str>) -> Duration {
    let secs = keep_alive.and_then(|secs| secs.parse().ok()).unwrap_or(DEFAULT_KEEP_ALIVE_SECS);
    Duration::from_secs(secs.clamp(DEFAULT_KEEP_ALIVE_SECS, MAX_KEEP_ALIVE_SECS) * MISSED_KEEP_ALIVES)
}

/// The events of one turn, as they arrive.
pub(crate) struct EventStream(Frames);

impl EventStream {
    pub(super) fn new(response: Response) -> Result<Self, ApiError> {
        Frames::new(response).map(Self)
    }

    /// The events that have arrived, at least one; `None` when the stream ended or broke off.
    pub(crate) async fn next(&mut self) -> Option<Events> {
        reading::events(self.0.next().await?).await.ok()
    }

    /// Waits for the server to close the stream after its last event, which it does at once. Dropping the stream before
    /// that would count as a broken connection on both sides.
    pub(crate) async fn finish(&mut self) {
        let at_end = async { while let Ok(Some(_)) = self.0.body.next().await {} };
        let _ = browser::within(CLOSING_LIMIT, at_end).await;
    }
}

/// What happens to conversations, as it happens.
pub(crate) struct Feed {
    frames: Frames,
    /// The folder of the page that this server has, which names its version; `None` when it does not say.
    pub(crate) folder: Option<String>,
}

impl Feed {
    /// The events that have arrived; `None` when the stream ended or broke off. What cannot be read is left out.
    pub(crate) async fn next(&mut self) -> Option<Vec<FeedEvent>> {
        let frames = self.frames.next().await?;
        Some(frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok()).collect())
    }
}

/// `GET /api/events`
pub(crate) async fn feed() -> Result<Feed, ApiError> {
    let response = request("GET", "/api/events", NO_BODY).await?;
    let folder = response.header(PAGE_HEADER);
    Ok(Feed { frames: Frames::new(response)?, folder })
}

#[cfg(test)]
mod tests {
    use super::silence_limit;

    #[test]
    fn a_connection_is_dead_after_three_missed_keep_alives() {
        for (header, secs) in [
            (None, 15),
            (Some("5"), 15),
            (Some("1"), 15),
            (Some("30"), 90),
            (Some("0"), 15),
            (Some("soon"), 15),
            (Some("-1"), 15),
            (Some("18446744073709551615"), 180),
        ] {
            assert_eq!(silence_limit(header).as_secs(), secs, "{header:?}");
        }
    }
}
