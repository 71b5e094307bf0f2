//! A turn as it happened, from its record, for who reads one of its calls.

use tallybook_protocol::{PlayedEvent, ToolCallId};

use super::{
    Book, BookError,
    limits::MAX_PLAYED_EVENTS,
    store::{looks::Action, whole},
};
use crate::{
    accounts::Caller,
    journal::{
        EventId,
        stored::{self, RawEvent},
    },
};

/// The record of the turn that made a call.
pub(crate) struct CallPlayback {
    /// The call's tool.
    pub(crate) tool: String,
    /// In order; none when the record is no longer kept.
    pub(crate) events: Vec<PlayedEvent>,
    /// False where it goes on beyond what is read of it.
    pub(crate) is_whole: bool,
}

impl Book {
    /// The events of the turn around a call, whosever it is. It is looked at as the call is.
    pub(crate) async fn open_playback(&self, reader: &Caller, id: ToolCallId) -> Result<CallPlayback, BookError> {
        let db = &self.context.db;
        let row = whole::find_call(db, id).await?.ok_or(BookError::NoSuchCall)?;
        self.look(reader, row.user_id, Action::CallOpened, &id.to_string()).await?;
        let mut last = EventId { message_id: row.message_id, epoch: 0, seq: -1 };
        let (mut events, mut is_whole) = (Vec::new(), false);
        while events.len() < MAX_PLAYED_EVENTS && !is_whole {
            let read = stored::list_raw_events_after(db, last).await?;
            last = read.last().map_or(last, |event| event.id);
            is_whole = read.is_empty();
            events.extend(read.into_iter().map(RawEvent::played));
        }
        Ok(CallPlayback { tool: row.tool_name, events, is_whole })
    }
}
