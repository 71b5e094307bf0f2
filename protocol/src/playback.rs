//! Events of a finished turn, for playback.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{ChatEvent, RawJson};

/// One page of `GET /api/conversations/{uuid}/messages/{message_id}/playback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Playback {
    /// Events in the order in which they were sent; empty if they are no longer stored.
    pub items: Vec<PlayedEvent>,
    /// Pass as `after` to get the next page; null on the last page.
    pub next: Option<String>,
}

/// An event as it was stored. Text is stored four times a second, so one event can join several that were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlayedEvent {
    /// Name of the event, as in the stream.
    pub event: String,
    /// Data of the event, as in the stream.
    pub data: RawJson,
    /// Time at which the event was stored.
    pub at: DateTime<Utc>,
}

impl PlayedEvent {
    /// Parses the event.
    pub fn parse(&self) -> Result<ChatEvent, serde_json::Error> {
        ChatEvent::parse(&self.event, self.data.as_str())
    }
}
