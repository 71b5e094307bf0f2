//! Playback of the turn that made a tool call, from its stored events.

use tallybook_accounts::Caller;
use tallybook_conversations::journal::{
    EventId,
    stored::{self, RawEvent},
};
use tallybook_protocol::{PlayedEvent, ToolCallId};

use super::{
    ToolHistory, ToolHistoryError,
    limits::MAX_PLAYED_EVENTS,
    store::{access_log::Action, details},
};

/// The stored events of the turn that made a call.
pub struct CallPlayback {
    /// Name of the call's tool.
    pub tool: String,
    /// The events in order; empty if they are no longer stored.
    pub events: Vec<PlayedEvent>,
    /// `false` if the turn has more events than were read.
    pub is_whole: bool,
}

impl ToolHistory {
    /// Returns the events of the turn that made a call of any user. The access is recorded in the same way as opening
    /// the call.
    pub async fn open_playback(&self, caller: &Caller, id: ToolCallId) -> Result<CallPlayback, ToolHistoryError> {
        let db = &self.context.db;
        let row = details::find_call(db, id).await?.ok_or(ToolHistoryError::NoSuchCall)?;
        self.record_access(caller, row.user_id, Action::CallOpened, &id.to_string()).await?;
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
