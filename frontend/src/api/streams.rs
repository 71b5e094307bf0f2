//! Streamed responses: the events of a turn, and the feed.

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
    browser::{self, Body, HttpResponse},
    reading::{self, Events},
};

/// Keep-alive interval if the server does not send one.
const DEFAULT_KEEP_ALIVE_SECS: u64 = 5;
/// Maximum keep-alive interval. A longer one from the server is reduced to it.
const MAX_KEEP_ALIVE_SECS: u64 = 60;
/// Number of missed keep-alives after which a connection counts as dead.
const MISSED_KEEP_ALIVES: u64 = 3;
/// Maximum time that the server may take to close a stream that has ended.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);

/// Server-sent events of a response.
struct Frames {
    body: Body,
    decoder: Decoder,
    arrived: Vec<Frame>,
    /// Maximum silence before the stream counts as dead.
    silence_limit: Duration,
}

impl Frames {
    fn new(response: HttpResponse) -> Result<Self, ApiError> {
        let silence_limit = silence_limit(response.header(KEEP_ALIVE_HEADER).as_deref());
        Ok(Self { body: response.into_body()?, decoder: Decoder::new(), arrived: Vec::new(), silence_limit })
    }

    /// Returns the frames that have arrived, at least one; `None` if the stream has ended or broken.
    async fn next(&mut self) -> Option<Vec<Frame>> {
        while self.arrived.is_empty() {
            let portion = browser::within(self.silence_limit, self.body.next()).await?.ok()??;
            self.arrived.extend(self.decoder.push(&portion).ok()?);
        }
        Some(std::mem::take(&mut self.arrived))
    }
}

/// Calculates the maximum silence of a stream from the keep-alive interval that the server sent. The result is at
/// least three default intervals, because a short interval says nothing about a slow network.
fn silence_limit(keep_alive: Option<&str>) -> Duration {
    let secs = keep_alive.and_then(|secs| secs.parse().ok()).unwrap_or(DEFAULT_KEEP_ALIVE_SECS);
    Duration::from_secs(secs.clamp(DEFAULT_KEEP_ALIVE_SECS, MAX_KEEP_ALIVE_SECS) * MISSED_KEEP_ALIVES)
}

/// The events of one turn.
pub(crate) struct EventStream(Frames);

impl EventStream {
    pub(super) fn new(response: HttpResponse) -> Result<Self, ApiError> {
        Frames::new(response).map(Self)
    }

    /// Returns the events that have arrived, at least one; `None` if the stream has ended or broken.
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

/// The stream of the feed: changes to the user's conversations, as they happen.
pub(crate) struct FeedStream {
    frames: Frames,
    /// The folder of the server's page, which identifies its version; `None` if the server does not send it.
    pub(crate) folder: Option<String>,
}

impl FeedStream {
    /// Returns the events that have arrived; `None` if the stream has ended or broken. Events that cannot be parsed
    /// are skipped.
    pub(crate) async fn next(&mut self) -> Option<Vec<FeedEvent>> {
        let frames = self.frames.next().await?;
        Some(frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok()).collect())
    }
}

/// `GET /api/events`
pub(crate) async fn feed() -> Result<FeedStream, ApiError> {
    let response = request("GET", "/api/events", NO_BODY).await?;
    let folder = response.header(PAGE_HEADER);
    Ok(FeedStream { frames: Frames::new(response)?, folder })
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
