//! The request or pause that a session waits for. There is only one at a time.

use std::sync::Arc;

use tallybook_protocol::{MessageId, NewMessage};

use super::shown::Step;
use crate::transcript::Entry;

/// Identifies a request. Only the result of the latest request of its kind is used; late results of older ones are
/// ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(super) u64);

/// A request that starts or resumes a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Send a message. If it is another version of a message, `cut` holds the entries that are hidden meanwhile.
    Message { message: NewMessage, cut: Vec<Arc<Entry>> },
    /// Regenerate an answer. `cut` holds the entries that are hidden meanwhile.
    Regenerate { cut: Vec<Arc<Entry>> },
    /// Resume an answer that ended early.
    Continue,
    /// Send decisions, after which the turn may resume.
    Decide,
}

/// The kind of a request for the stored conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// `true` if no turn is known to run. Then a failure is not reported.
    pub(super) is_quiet: bool,
    /// `true` if only the messages that may have changed are requested, not all that are loaded here.
    pub(super) is_small: bool,
    /// `true` if the request is a poll of a hidden tab.
    pub(super) is_peek: bool,
}

/// The request or pause that the session waits for. There is only one, so a turn is never read twice at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// No request or pause.
    Resting,
    /// The conversation is being created with its first message.
    Making(NewMessage),
    /// The server was asked for a turn and has not answered yet.
    Asking(Asked),
    /// The stored conversation is being loaded.
    Looking(Look),
    /// Another version is being selected.
    Selecting { wanted: MessageId, step: Option<Step> },
    /// The turn is being joined.
    Joining,
    /// The turn's events are streaming in.
    Streaming,
    /// The next attempt is in this many seconds.
    Pausing(u64),
    /// A turn runs, but the tabs of this browser already hold the maximum number of streams.
    Crowded,
    /// A turn runs, but the tab is hidden.
    Hidden,
}

/// The scopes that were already searched for the message that the user wants to go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sought {
    /// The loaded messages.
    #[default]
    Here,
    /// The earlier messages of this branch.
    Earlier,
    /// All branches.
    Everywhere,
}
