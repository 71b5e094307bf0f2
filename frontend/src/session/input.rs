//! What can happen to a session.

use tallybook_protocol::{CallDecision, Conversation, MessageId, ToolCall, ToolCallId};
use uuid::Uuid;

use super::reader::Ticket;
use super::shown::{Edited, Step};
use super::storage::Elsewhere;
use crate::{api::ApiError, feed::News, goal::Goal, reading::Events};

/// Something that happens.
#[derive(Debug)]
pub(crate) enum Input {
    /// The page is alive.
    Alive,
    /// The reader does something.
    Reader(Action),
    /// What was waited for is here.
    Answer(Ticket, Answer),
    /// How stopping went.
    Stopped(Ticket, Result<(), ApiError>),
    /// What leads up to this message is here.
    Earlier(Ticket, MessageId, Box<Result<Option<Conversation>, ApiError>>),
    /// Some of the earlier messages have been drawn.
    Drawn(Ticket),
    /// A tool call is here with its whole texts.
    Call(ToolCallId, Box<Result<ToolCall, ApiError>>),
    /// Something happened that the feed tells, or did not tell.
    News(News),
    /// The conversation is being deleted here, or that was taken back.
    Leaving(bool),
    /// What the new chat's field held, when a conversation is gone and what was being written in it goes there.
    Adopted(String),
    /// Another tab has changed what is kept of this conversation.
    Elsewhere(Elsewhere),
    /// The tab is hidden, or shown again.
    Hidden(bool),
    /// The browser has a network again.
    Online,
}

/// What a reader does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Writes in the message field.
    Write(String),
    /// Adds to what is in the message field, without typing.
    Add(String),
    /// Is to be told this about what could not be done.
    Say(String),
    /// Chooses a model for the next message alone, or none.
    ChooseNext(Option<String>),
    /// Has the next message answered by a plan, or not.
    PlanFirst(bool),
    /// Sends what is in the message field, or has it wait for the end of the answer. With an id for the message, in case it is a new one.
    SendDraft(String),
    /// Sends something else, with an id for it.
    Send(String, String),
    /// Sends another version of a message, with an id for it.
    Edit(MessageId, String, String),
    /// Begins to change a message in its place, or leaves it as it is.
    BeginEdit(Option<Edited>),
    /// Writes in its field.
    WriteEdit(String),
    Regenerate(MessageId),
    /// The same by another model.
    RegenerateBy(MessageId, String),
    /// Goes from a version to the one before or after it.
    Step(MessageId, Vec<MessageId>, Step),
    Continue,
    /// Decides on calls that wait.
    Decide(Vec<CallDecision>),
    /// Takes out a message that waits.
    Unqueue(String),
    /// Begins to change a message that waits, or leaves it as it is.
    EditQueued(Option<String>),
    /// Writes in its field.
    WriteQueued(String),
    /// Changes it, with an id for the message that it is then.
    ChangeQueued(String, String),
    /// Sends what waits, whatever became of the last answer.
    SendNow,
    Stop,
    LoadEarlier,
    /// Goes to a message.
    GoTo(Goal),
    LoadCall(ToolCallId),
    /// Waits no longer for the next attempt.
    Retry,
}

/// A conversation that was made for its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The server took the message, and tells what comes of it.
    Taken(Uuid),
    /// Nobody knows whether it took the message.
    Unknown(Uuid),
    /// Stop was pressed before the message was sent, so the conversation is deleted again.
    Stopped,
}

/// What comes of what the session waits for.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The conversation was made for its first message, which the server took; or neither is there.
    Made(Result<Made, ApiError>),
    /// The server took what was asked, and tells what comes of it.
    Opened(Result<(), ApiError>),
    /// The decisions are stored, and others are still to be taken before the turn goes on.
    Noted,
    /// The turn was joined; false when none runs.
    Joined(Result<bool, ApiError>),
    /// The conversation as it is stored; `None` when it is not there.
    Found(Result<Option<Conversation>, ApiError>),
    /// The other version is shown, and this is the conversation now.
    Selected(Result<Conversation, ApiError>),
    /// The turn runs, and the tabs of this browser hold as many streams as they may.
    Crowded,
    /// Events of the turn.
    Events(Events),
    /// The stream broke off.
    Broke,
    /// The pause is over.
    Second,
}
