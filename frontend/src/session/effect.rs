//! What a session has done in the world.

use tallybook_protocol::{MessageId, NewMessage, ToolCallId, Window};
use uuid::Uuid;

use super::state::{Step, Ticket};

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Wait for this, and no longer for what was waited for before.
    Read(Ticket, Request),
    /// Wait for nothing any more.
    LetGo,
    /// Ask the server to stop the turn.
    Stop(Ticket, Uuid),
    /// Load messages that lead up to this one.
    LoadEarlier(Ticket, Uuid, MessageId),
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
    /// Move the focus to the button that leads on from a version.
    FocusVersion(MessageId, Step),
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Make a conversation for this message.
    Make(NewMessage),
    /// Take a message.
    Send(Uuid, NewMessage),
    Regenerate(Uuid, MessageId),
    Continue(Uuid),
    /// Show another version.
    Select(Uuid, MessageId, Window),
    /// Tell what is stored.
    Find(Uuid, Window),
    /// Join the turn, after this event.
    Join(Uuid, Option<String>),
    /// Let a second pass.
    Second,
}
