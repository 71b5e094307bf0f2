//! Inputs of a session: everything that can happen to it.

use tallybook_protocol::{CallDecision, Conversation, Feedback, FileInfo, MessageId, ToolCall, ToolCallId};
use uuid::Uuid;

use super::{
    connection::Ticket,
    files::{AttachedFile, FilesOf},
    shown::{Edited, Step},
    storage::Elsewhere,
};
use crate::{api::ApiError, feed::News, goal::Goal, reading::Events};

/// An event that the session reacts to.
#[derive(Debug)]
pub(crate) enum Input {
    /// The page is interactive.
    Ready,
    /// The user did something.
    User(Action),
    /// The current request has a result.
    Response(Ticket, Response),
    /// The request to stop the turn has a result.
    Stopped(Ticket, Result<(), ApiError>),
    /// The messages before this message were loaded, or could not be.
    Earlier(Ticket, MessageId, Box<Result<Option<Conversation>, ApiError>>),
    /// Some of the earlier messages have been drawn.
    Drawn(Ticket),
    /// A tool call was loaded with its full texts, or could not be.
    Call(ToolCallId, Box<Result<ToolCall, ApiError>>),
    /// The user's feedback on an answer changed. If it could not be stored, contains the feedback before and the error.
    Rated(MessageId, Option<Feedback>, Option<ApiError>),
    /// A request that changes nothing in the conversation failed.
    Failed(ApiError),
    /// The feed reported an event, or may have missed some.
    News(News),
    /// The conversation is about to be deleted from this page (`true`), or the deletion was undone.
    Leaving(bool),
    /// The text and files that were kept for the new chat's field. A deleted conversation adds its own to them.
    Adopted(String, Vec<AttachedFile>),
    /// The server has received this share of a file, in percent.
    UploadProgress(String, u8),
    /// The upload of a file ended.
    Uploaded(String, Box<Result<FileInfo, ApiError>>),
    /// Another tab has changed the stored unsent texts of this conversation.
    Elsewhere(Elsewhere),
    /// The tab was hidden (`true`) or shown again.
    Hidden(bool),
    /// The browser has a network again.
    Online,
}

/// An action of the user.
#[derive(Debug)]
pub(crate) enum Action {
    /// Sets the text of the message field.
    Write(String),
    /// Adds to the text of the message field, without typing.
    Add(String),
    /// Adds files to a message.
    Attach(FilesOf, Vec<AttachedFile>),
    /// Removes a file, named by its key, from a message.
    RemoveFile(FilesOf, String),
    /// Uploads a file again.
    RetryUpload(String),
    /// Chooses a model for the next message only; `None` for the conversation's model.
    ChooseNext(Option<String>),
    /// Turns planning on or off for the next message's answer.
    PlanFirst(bool),
    /// Sends or queues the text of the message field. Contains an ID for the message, which is used if the message is
    /// new.
    SendDraft(String),
    /// Sends a text other than the draft. Contains the text and an ID for the message.
    Send(String, String),
    /// Sends another version of a message, with the files that the edit kept. Contains the text and an ID for the new
    /// version.
    Edit(MessageId, String, String),
    /// Starts editing a message in place; `None` cancels the edit.
    BeginEdit(Option<Edited>),
    /// Starts editing the user's last message, if the message field is empty and nothing else is being edited.
    EditLast,
    /// Sets the text of the message that is being edited.
    WriteEdit(String),
    Regenerate(MessageId),
    /// Regenerates an answer with another model.
    RegenerateBy(MessageId, String),
    /// Goes from a version to the previous or next one.
    Step(MessageId, Vec<MessageId>, Step),
    /// Says that the user may not upload the files that were pasted or dropped.
    RefuseFiles,
    /// Resumes the last answer with this model, or with the answer's own.
    Continue(Option<String>),
    /// Decides on calls that wait for approval.
    Decide(Vec<CallDecision>),
    /// Removes a queued message.
    Unqueue(String),
    /// Starts editing a queued message; `None` cancels the edit.
    EditQueued(Option<String>),
    /// Sets the text of the queued message that is being edited.
    WriteQueued(String),
    /// Replaces the queued message that is being edited. Contains the text and a new ID, because the changed message is
    /// a new one.
    ChangeQueued(String, String),
    /// Sends the queued messages, no matter how the last answer ended.
    SendNow,
    Stop,
    LoadEarlier,
    /// Goes to a message.
    GoTo(Goal),
    LoadCall(ToolCallId),
    /// Retries the connection now.
    Retry,
}

/// The result of creating a conversation for its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The server accepted the message and streams the turn.
    Accepted(Uuid),
    /// It is unknown whether the server received the message.
    Unknown(Uuid),
    /// The user pressed Stop before the message was sent, so the conversation was deleted again.
    Stopped,
}

/// The result of a request, or the end of a pause.
#[derive(Debug)]
pub(crate) enum Response {
    /// The result of creating a conversation with its first message. After an error, neither exists.
    Created(Result<Creation, ApiError>),
    /// The server accepted the request and streams the turn, or refused it.
    Started(Result<(), ApiError>),
    /// The decisions are stored. Other calls must be decided on before the turn resumes.
    DecisionsStored,
    /// `true` if the turn was joined, `false` if none runs.
    Joined(Result<bool, ApiError>),
    /// The stored conversation; `None` if it does not exist.
    Loaded(Result<Option<Conversation>, ApiError>),
    /// The other version was selected. Contains the conversation after that.
    Selected(Result<Conversation, ApiError>),
    /// The turn runs, but the tabs of this browser already hold the maximum number of streams.
    Crowded,
    /// Events of the turn.
    Events(Events),
    /// The stream was interrupted.
    Interrupted,
    /// The pause is over.
    Tick,
}
