//! The `id:` of an event on the wire. Clients treat it as opaque.

use std::{fmt, str::FromStr};

use tallybook_protocol::MessageId;

/// Identifies one event by its turn, the epoch of the lease, and a sequence number. Written as `message.epoch.seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// ID of the assistant's message.
    pub message_id: MessageId,
    /// Epoch of the lease under which the event was sent.
    pub epoch: i32,
    /// Sequence number of the event within the turn and epoch, from 0.
    pub seq: i64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.message_id, self.epoch, self.seq)
    }
}

/// The text is not a valid event ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an event id")]
pub struct BadEventId;

impl FromStr for EventId {
    type Err = BadEventId;

    fn from_str(text: &str) -> Result<Self, BadEventId> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().ok_or(BadEventId);
        let (message_id, epoch, seq) = (next()?, next()?, next()?);
        let id = Self {
            message_id: MessageId(message_id.parse().map_err(|_| BadEventId)?),
            epoch: epoch.parse().map_err(|_| BadEventId)?,
            seq: seq.parse().map_err(|_| BadEventId)?,
        };
        // The snapshot of a turn that has sent nothing yet has the number -1.
        if id.message_id.0 >= 0 && id.epoch >= 0 && id.seq >= -1 { Ok(id) } else { Err(BadEventId) }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::MessageId;

    use crate::journal::event_id::{BadEventId, EventId};

    #[test]
    fn an_id_is_read_back_and_nonsense_is_refused() {
        let id = EventId { message_id: MessageId(12), epoch: 3, seq: 40 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for nonsense in [
            "",
            "1",
            "1.2",
            "1.2.x",
            "1.2.3.4",
            "1.2.-2",
            "-1.2.3",
            "1.-2.3",
            "1.2.-9223372036854775808",
            "99999999999999999999.1.1",
        ] {
            assert_eq!(nonsense.parse::<EventId>(), Err(BadEventId), "{nonsense}");
        }
    }
}
