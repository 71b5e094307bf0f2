//! What a session has done in the world.

use tallybook_protocol::{CallDecision, MessageId, NewMessage, ToolCallId, Window};
use uuid::Uuid;

use super::reader::Ticket;
use super::shown::Step;
use crate::goal::Goal;

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Wait for this, and no longer for what was waited for before.
    Read(Ticket, Request),
    /// Wait for nothing any more.
    LetGo,
    /// Ask the server to stop the turn.
    Stop(Ticket, Uuid),
    /// Load messages that lead up to this one, and back to the other one if that is among them.
    LoadEarlier(Ticket, Uuid, MessageId, Option<MessageId>),
    /// Draw what came above all messages without moving what is in sight, and say when that is done.
    DrawEarlier(Ticket),
    /// Load a tool call.
    LoadCall(ToolCallId),
    /// Draw what is known, now.
    Draw,
    /// Draw what is known in the next frame.
    DrawSoon,
    /// The new chat became this conversation.
    Became(Uuid),
    /// Leave for a new chat.
    OpenNewChat,
    /// Give what the new chat's message field holds.
    AdoptDraft,
    /// Show a place that is here.
    Reveal(Goal),
    /// Move the focus to the button that leads on from a version.
    FocusVersion(MessageId, Step),
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Make a conversation with this message, or none if the message is refused.
    Make(NewMessage),
    /// Take a message.
    Send(Uuid, NewMessage),
    /// Write an answer anew, by this model or the conversation's.
    Regenerate(Uuid, MessageId, Option<String>),
    Continue(Uuid),
    /// Take these decisions, at least one.
    Decide(Uuid, Vec<CallDecision>),
    /// Show another version.
    Select(Uuid, MessageId, Window),
    /// Tell what is stored.
    Find(Uuid, Window),
    /// Join the turn, after this event.
    Join(Uuid, Option<String>),
    /// Let a second pass.
    Second,
    /// Wait for the interval at which a turn is polled that has no stream.
    CrowdedPause,
    /// Let the time pass after which it is looked for the end of a turn that nobody sees.
    HiddenPause,
}
