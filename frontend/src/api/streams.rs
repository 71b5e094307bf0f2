//! Answers that go on: the events of a turn, and the feed.

use std::time::Duration;

use tallybook_protocol::{
    FeedEvent, PAGE_HEADER,
    sse::{Decoder, Frame},
};

use super::{
    error::ApiError,
    request::{NO_BODY, request},
};
use crate::{
    browser::{self, Body, Response},
    reading::{self, Events},
};

/// A stream that is silent for so long is taken for dead; the server sends a sign of life more often than that.
const SILENCE_LIMIT: Duration = Duration::from_mins(1);
/// How long the server may take to close a stream that is over.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);

/// Server-sent events, as they arrive.
struct Frames {
    body: Body,
    decoder: Decoder,
    arrived: Vec<Frame>,
}

impl Frames {
    fn new(response: Response) -> Result<Self, ApiError> {
        Ok(Self { body: response.into_body()?, decoder: Decoder::new(), arrived: Vec::new() })
    }

    /// What has arrived, at least one frame; `None` when the stream ended or broke off.
    async fn next(&mut self) -> Option<Vec<Frame>> {
        while self.arrived.is_empty() {
            let portion = browser::within(SILENCE_LIMIT, self.body.next()).await?.ok()??;
            self.arrived.extend(self.decoder.push(&portion).ok()?);
        }
        Some(std::mem::take(&mut self.arrived))
    }
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
