//! Effects: actions outside the state that a session asks for.

use tallybook_protocol::{CallDecision, MessageId, ToolCallId, Window};
use uuid::Uuid;

use super::{connection::Ticket, shown::Step, unsent::UnsentMessage};
use crate::goal::Goal;

/// An action outside the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Perform this request and abort the previous one.
    Perform(Ticket, Request),
    /// Abort the current request.
    Abort,
    /// Ask the server to stop the turn.
    Stop(Ticket, Uuid),
    /// Load messages that come before the first ID. If the message with the second ID is among them, load back to it.
    LoadEarlier(Ticket, Uuid, MessageId, Option<MessageId>),
    /// Draw earlier messages without moving what is visible, then report that with `Input::Drawn`.
    DrawEarlier(Ticket),
    /// Load a tool call.
    LoadCall(ToolCallId),
    /// Draw the known transcript now.
    Draw,
    /// Draw the known transcript in the next frame.
    DrawSoon,
    /// Report that the new chat became this conversation.
    ReportCreated(Uuid),
    /// Open a new chat.
    OpenNewChat,
    /// Report the text that is kept for the message field of the new chat.
    AdoptDraft,
    /// Show a loaded message.
    Reveal(Goal),
    /// Upload a file of the message field, which the page holds under this key.
    Upload(String),
    /// Forget the content of a file, and abort its upload.
    ForgetFile(String),
    /// Delete a file from the server, unless a message contains it.
    DeleteFile(Uuid),
    /// Move the focus to the button that leads from this version to the next or previous one.
    FocusVersion(MessageId, Step),
}

/// A request to the server, or a pause. A session waits for one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Create a conversation with this message. If the message is refused, the page deletes the conversation again.
    Create(UnsentMessage),
    /// Send a message.
    Send(Uuid, UnsentMessage),
    /// Regenerate an answer with this model, or with the conversation's.
    Regenerate(Uuid, MessageId, Option<String>),
    /// Resume the last answer with this model, or with the answer's own.
    Continue(Uuid, Option<String>),
    /// Send these decisions; there is at least one.
    Decide(Uuid, Vec<CallDecision>),
    /// Show another version.
    Select(Uuid, MessageId, Window),
    /// Load the stored conversation.
    Load(Uuid, Window),
    /// Join the turn after this event.
    Join(Uuid, Option<String>),
    /// Wait for one second.
    Tick,
    /// Wait for the interval at which a turn without a stream is polled.
    CrowdedPause,
    /// Wait for the interval at which a hidden tab polls its turn.
    HiddenPause,
}
