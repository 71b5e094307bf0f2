//! The connection of a session to its conversation: at most one request, stream or pause at a time, so that no turn is
//! read twice. [`Connection::next`] has all transitions between its states.

use std::sync::Arc;

use tallybook_protocol::MessageId;

use super::{shown::Step, unsent::UnsentMessage};
use crate::transcript::Entry;

/// Identifies a request. Only the result of the latest request of its kind is used; late results of older ones are
/// ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(super) u64);

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// Nothing.
    Idle,
    /// The conversation is being created with its first message.
    Creating(UnsentMessage),
    /// The server was asked to start or resume a turn and has not responded yet.
    Starting(Starting),
    /// The stored conversation is being loaded.
    Refetching(Refetch),
    /// Another version is being selected: from its neighbor (`step`), or to go to a message.
    Selecting { wanted: MessageId, step: Option<Step> },
    /// The turn's stream is being opened.
    Joining,
    /// The turn's events are arriving.
    Streaming,
    /// The next attempt is in this many seconds.
    Backoff(u64),
    /// A turn runs, but the tabs of this browser already hold the maximum number of streams. The turn is polled.
    Crowded,
    /// A turn runs, but the tab is hidden. The turn is polled.
    Hidden,
}

/// A request that starts or resumes a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Starting {
    /// Send a message. If it is another version of a message, `cut` holds the entries that are hidden meanwhile.
    Message { message: UnsentMessage, cut: Vec<Arc<Entry>> },
    /// Regenerate an answer. `cut` holds the entries that are hidden meanwhile.
    Regenerate { cut: Vec<Arc<Entry>> },
    /// Continue an answer that ended early.
    Continue,
    /// Send decisions, after which the turn may resume.
    Decide,
}

/// A request for the stored conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refetch {
    pub(super) why: RefetchReason,
    pub(super) scope: Scope,
}

/// Why the stored conversation is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefetchReason {
    /// To see whether something changed. No turn is known to run, so a failure is not reported.
    Check,
    /// To find the state of a turn, or because the conversation is opened. A failure is retried, and shown.
    Follow,
    /// As `Follow`, from a hidden tab. A failure is retried with the next poll.
    Poll,
}

/// The part of a conversation that is loaded, or may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The last message known here and those after it.
    Newest,
    /// All messages that are loaded here, because an earlier message may have another version now.
    All,
}

impl Refetch {
    /// Loads a conversation for the first time.
    pub(super) const FIRST: Self = Self { why: RefetchReason::Follow, scope: Scope::All };

    /// Returns `true` if nothing is known to run, so that the session counts as idle meanwhile.
    pub(super) fn is_check(self) -> bool {
        self.why == RefetchReason::Check
    }
}

/// An event that changes the state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The user sends the first message.
    Create(UnsentMessage),
    /// The server is asked to start or resume a turn.
    Start(Starting),
    /// The user selects another version, or goes to a message.
    Select { wanted: MessageId, step: Option<Step> },
    /// The stored conversation is loaded.
    Load(Refetch),
    /// A turn runs, and its stream is opened.
    Join,
    /// The server streams the turn.
    Stream,
    /// An attempt failed, or another second of the pause after it is over. The next attempt is in this many seconds.
    BackOff(u64),
    /// The tabs of this browser already hold the maximum number of streams.
    Crowd,
    /// The tab is hidden, or a poll from it failed.
    Hide,
    /// Nothing is awaited any more: no turn runs, or the request is not retried.
    Rest,
    /// The conversation was deleted.
    Delete,
}

impl Connection {
    /// Returns the state after an event; `None` if the event cannot happen in this state.
    pub(super) fn next(&self, event: Event) -> Option<Self> {
        let next = match (self, event) {
            (from, Event::Create(message)) if from.is_free() => Self::Creating(message),
            (from, Event::Start(starting)) if from.is_free() => Self::Starting(starting),
            // A message whose creation has an unknown outcome, or that waited for the conversation.
            (
                Self::Creating(_) | Self::Refetching(_) | Self::Selecting { .. },
                Event::Start(starting @ Starting::Message { .. }),
            ) => Self::Starting(starting),
            (from, Event::Select { wanted, step }) if from.is_free() => Self::Selecting { wanted, step },
            (from, Event::Load(refetch)) if from.may_load(refetch.why) => Self::Refetching(refetch),
            (Self::Refetching(_) | Self::Selecting { .. } | Self::Backoff(_), Event::Join) => Self::Joining,
            (Self::Creating(_) | Self::Starting(_) | Self::Joining, Event::Stream) => Self::Streaming,
            // A place that could not be loaded is idle until the page is interactive.
            (
                Self::Idle
                | Self::Joining
                | Self::Streaming
                | Self::Backoff(_)
                | Self::Refetching(Refetch { why: RefetchReason::Follow, .. }),
                Event::BackOff(seconds),
            ) => Self::Backoff(seconds),
            (Self::Joining | Self::Streaming, Event::Crowd) => Self::Crowded,
            (Self::Joining | Self::Streaming | Self::Crowded | Self::Backoff(_), Event::Hide) => Self::Hidden,
            (Self::Refetching(refetch), Event::Hide) if !refetch.is_check() => Self::Hidden,
            (
                Self::Creating(_)
                | Self::Starting(_)
                | Self::Refetching(_)
                | Self::Selecting { .. }
                | Self::Joining
                | Self::Streaming,
                Event::Rest,
            )
            | (_, Event::Delete) => Self::Idle,
            _ => return None,
        };
        Some(next)
    }

    fn may_load(&self, why: RefetchReason) -> bool {
        match (self, why) {
            (Self::Creating(_) | Self::Selecting { .. }, _) => false,
            (_, RefetchReason::Follow) | (Self::Idle, RefetchReason::Check) | (Self::Hidden, RefetchReason::Poll) => {
                true
            }
            // The part that was loaded is not enough.
            (Self::Refetching(refetch), why) => refetch.why == why,
            _ => false,
        }
    }

    /// Returns the part of the conversation whose load is given up if this event happens.
    pub(super) fn gives_up(&self, event: &Event) -> Option<Scope> {
        let Self::Refetching(refetch) = self else { return None };
        let is_given_up = match event {
            Event::Create(_) | Event::Start(_) | Event::Select { .. } => refetch.is_check(),
            Event::Hide => refetch.why == RefetchReason::Follow,
            _ => false,
        };
        is_given_up.then_some(refetch.scope)
    }

    /// Returns `true` if the user can start something: nothing is awaited, or only a check.
    pub(super) fn is_free(&self) -> bool {
        match self {
            Self::Idle => true,
            Self::Refetching(refetch) => refetch.is_check(),
            _ => false,
        }
    }

    /// Returns `true` while a message, or another request for a turn, is on its way to the server.
    pub(super) fn is_starting(&self) -> bool {
        matches!(self, Self::Creating(_) | Self::Starting(_))
    }

    /// Returns `true` while a turn is followed, or about to be.
    pub(super) fn follows_turn(&self) -> bool {
        matches!(self, Self::Starting(_) | Self::Joining | Self::Streaming | Self::Crowded | Self::Backoff(_))
    }
}

/// Position in the stream of a turn, and the failed attempts to read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamPosition {
    /// ID of the last event. The stream is joined after it.
    pub(super) last_event: Option<String>,
    /// Number of attempts that failed in a row.
    pub(super) attempt: u32,
    /// The answer of an unknown turn for which the conversation was loaded again. It is loaded once for each such
    /// answer.
    pub(super) refetched_for: Option<MessageId>,
}

/// The state of the Stop button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    No,
    /// The request is sent as soon as the turn runs.
    Wanted,
    /// The server was asked to stop the turn.
    Requested(Ticket),
}

/// The scopes that were already searched for the message that the user wants to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkStage {
    /// The loaded messages.
    Loaded,
    /// The earlier messages of this branch.
    Earlier,
    /// All branches.
    Everywhere,
}
