//! Events of a finished turn, for playback.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{ChatEvent, RawJson};

/// One page of `GET /api/conversations/{uuid}/messages/{message_id}/playback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Playback {
    /// Events in the order in which they were sent; none where they are no longer kept.
    pub items: Vec<PlayedEvent>,
    /// Pass as `after` to go on; absent on the last page.
    pub next: Option<String>,
}

/// An event as it was stored: text is stored joined, four times a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlayedEvent {
    /// Its name, as that of a server-sent event.
    pub event: String,
    /// Its data, as that of a server-sent event.
    pub data: RawJson,
    /// When it was stored.
    pub at: DateTime<Utc>,
}

impl PlayedEvent {
    /// Parses the event.
    pub fn parse(&self) -> Result<ChatEvent, serde_json::Error> {
        ChatEvent::parse(&self.event, self.data.as_str())
    }
}
