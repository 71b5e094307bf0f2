//! Responses that several API operations share, for the API document (`openapi`). Each operation names its own errors;
//! `openapi` adds the errors that all operations of a kind can return. Also has the response type for lists without
//! pages.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

/// A complete list, without pages.
#[derive(Serialize, ToSchema)]
pub(crate) struct List<T> {
    /// All items.
    pub(crate) items: Vec<T>,
}

/// The events of a turn, as a stream.
pub(crate) enum TurnEvents {}

impl IntoResponses for TurnEvents {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let events = ContentBuilder::new().schema(Some(Ref::from_schema_name("ChatEvent"))).build();
        let response = ResponseBuilder::new()
            .description("The turn's events, streamed as they happen.")
            .content("text/event-stream", events);
        BTreeMap::from([("200".to_owned(), response.build().into())])
    }
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:literal: $text:literal,)+ })+) => {
        $(
            $(#[$doc])*
            pub(crate) enum $name {}

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    BTreeMap::from([$(($status.to_owned(), Response::new($text).into())),+])
                }
            }
        )+
    };
}

refusals! {
    /// The request is well-formed but breaks a rule.
    Invalid { "422": "The request is well-formed but breaks a rule. `detail` names the rule.", }
    /// The content of a file cannot be read.
    Unreadable { "422": "The file is damaged, protected or too complex. `detail` says why.", }
    /// A message contains the file.
    InUse { "409": "A message contains the file.", }
    /// Something that the request names does not exist.
    Unknown { "404": "It does not exist, or it belongs to another user.", }
    /// The server has no accounts.
    NoAccounts { "404": "This server has no accounts.", }
    /// The request conflicts with the current state.
    Conflict { "409": "The request conflicts with the current state. `type` and `detail` say why.", }
    /// The maximum number of such resources is reached.
    TooMany { "409": "The limit is reached.", }
    /// A turn runs in the conversation, or waits for approval.
    Busy { "409": "A turn is running in this conversation, or waits for approval.", }
    /// The turn cannot start.
    TurnRefused {
        "409": "A turn is running in this conversation or waits for approval, or no turn can be resumed.",
        "422": "The request breaks a rule, which `detail` names, or the model does not exist.",
        "429": "You have reached a limit. `Retry-After` says when to retry.",
    }
    /// The decision comes too late, or the tool has changed.
    AlreadyDecided {
        "409": "The call is already decided, or the tool has changed since the model called it.",
    }
    /// The tool's definition differs from the one that the admin reviewed, or its server has too many remembered tools.
    ToolChanged { "409": "The tool's definition has changed again, or the server already has the maximum number of \
                          remembered tools.", }
    /// The sign-in failed.
    WrongPassword { "401": "The name or the password is wrong.", }
    /// The user has sent the maximum number of messages per minute.
    TooManyMessages { "429": "You have sent too many messages. `Retry-After` says when to retry.", }
    /// There were too many attempts; the caller may be guessing a password.
    TooManyAttempts { "429": "Too many attempts. `Retry-After` says when to retry.", }
    /// The user has reached a limit, or the model produced no answer.
    ModelFailed {
        "429": "You have reached a limit. `Retry-After` says when to retry.",
        "502": "The model's provider failed.",
        "504": "The answer took too long.",
    }
}
