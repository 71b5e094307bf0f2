//! Responses that several API operations share, for the API document (`openapi`). Each operation names its own errors;
//! `openapi` adds the errors that all operations of a kind can return. Also has the response type for lists without pages.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

/// A list that is answered whole.
#[derive(Serialize, ToSchema)]
pub(crate) struct List<T> {
    /// What is in it.
    pub(crate) items: Vec<T>,
}

/// The events of a turn, as a stream.
pub(crate) enum TurnEvents {}

impl IntoResponses for TurnEvents {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let events = ContentBuilder::new().schema(Some(Ref::from_schema_name("ChatEvent"))).build();
        let response =
            ResponseBuilder::new().description("The turn's events, as they come.").content("text/event-stream", events);
        BTreeMap::from([("200".to_owned(), response.build().into())])
    }
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:literal: $words:literal,)+ })+) => {
        $(
            $(#[$doc])*
            pub(crate) enum $name {}

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    BTreeMap::from([$(($status.to_owned(), Response::new($words).into())),+])
                }
            }
        )+
    };
}

refusals! {
    /// The request is well-formed but breaks a rule.
    Invalid { "422": "It is written as it should be and breaks a rule, which `detail` names.", }
    /// Something that the request names does not exist.
    Unknown { "404": "There is no such thing, or it is another's.", }
    /// The server has no accounts.
    NoAccounts { "404": "This server has no accounts.", }
    /// The request conflicts with the current state.
    Conflict { "409": "It cannot be as things stand; `type` and `detail` say why.", }
    /// The maximum number of such resources is reached.
    TooMany { "409": "There are as many as there may be.", }
    /// A turn runs in the conversation, or waits for approval.
    Busy { "409": "A turn runs in this conversation, or waits for consent.", }
    /// The turn cannot start.
    TurnRefused {
        "409": "A turn runs in this conversation or waits for consent, or there is nothing to go on with.",
        "422": "It breaks a rule, which `detail` names, or there is no such model.",
        "429": "One has reached a limit; `Retry-After` says when to ask again.",
    }
    /// The decision comes too late, or the tool has changed.
    AlreadyDecided {
        "409": "It is decided already, or the tool has changed since it was asked for.",
    }
    /// The tool's definition differs from the one that the admin reviewed, or its server has too many remembered tools.
    ToolChanged { "409": "Its definition has changed again, or no more tools of its server are remembered.", }
    /// The sign-in failed.
    WrongPassword { "401": "The name or the password is wrong.", }
    /// There were too many attempts; the caller may be guessing a password.
    TooManyAttempts { "429": "There were too many attempts; `Retry-After` says when to try again.", }
    /// The user has reached a limit, or the model produced no answer.
    ModelFailed {
        "429": "One has reached a limit; `Retry-After` says when to ask again.",
        "502": "The model's provider failed.",
        "504": "The answer took too long.",
    }
}
