//! The one thing that a session waits for to get on.

use std::sync::Arc;

use tallybook_protocol::{MessageId, NewMessage};

use super::shown::Step;
use crate::transcript::Entry;

/// Names a request. An answer to another than the last one of its kind comes too late, and changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(super) u64);

/// What was asked of the server that begins a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To take a message. What another version of it takes the place of is out of sight meanwhile.
    Message { message: NewMessage, cut: Vec<Arc<Entry>> },
    /// To write an answer anew.
    Regenerate { cut: Vec<Arc<Entry>> },
    /// To go on with an answer that was cut off.
    Continue,
    /// To take decisions, after which the turn may go on.
    Decide,
}

/// A look at the conversation as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether nothing is known to run, so that it is no news when it cannot be had.
    pub(super) is_quiet: bool,
    /// Whether it is at what may have changed, and not at all that is here.
    pub(super) is_small: bool,
    /// Whether it is for a tab that nobody sees.
    pub(super) is_peek: bool,
}

/// The one thing that the session waits for to get on. There is never a second, so no two of them read the same turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Nothing is under way.
    Resting,
    /// The conversation is being made for its first message.
    Making(NewMessage),
    /// The server was asked for a turn, and has not answered.
    Asking(Asked),
    /// The conversation is read as it is stored.
    Looking(Look),
    /// Another version is to be shown.
    Selecting { wanted: MessageId, step: Option<Step> },
    /// The turn is being joined.
    Joining,
    /// The turn's events come in.
    Streaming,
    /// The next attempt is in so many seconds.
    Pausing(u64),
    /// A turn runs, and the tabs of this browser hold as many streams as they may.
    Crowded,
    /// A turn runs, and nobody looks.
    Hidden,
}

/// Where a message that one goes to was looked for already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sought {
    /// Among what is here.
    #[default]
    Here,
    /// Before that.
    Earlier,
    /// On all branches.
    Everywhere,
}
