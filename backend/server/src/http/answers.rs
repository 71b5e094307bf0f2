//! What several operations answer, as the document of the API (`openapi`) says it: each names the statuses that are its own, and
//! what every operation of a kind may be refused with is added there. And lists that have no pages.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

/// A list that is answered whole.
#[derive(Serialize, ToSchema)]
pub(super) struct List<T> {
    /// What is in it.
    pub(super) items: Vec<T>,
}

/// The events of a turn, as they come.
pub(super) enum TurnEvents {}

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
            pub(super) enum $name {}

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    BTreeMap::from([$(($status.to_owned(), Response::new($words).into())),+])
                }
            }
        )+
    };
}

refusals! {
    /// What is asked for is written as it should be, and cannot be.
    Invalid { "422": "It is written as it should be and breaks a rule, which `detail` names.", }
    /// What is named in the body is not there.
    Unknown { "404": "There is no such thing, or it is another's.", }
    /// A server without accounts has no such things.
    NoAccounts { "404": "This server has no accounts.", }
    /// It goes against what is there.
    Conflict { "409": "It cannot be as things stand; `type` and `detail` say why.", }
    /// As many as there may be.
    TooMany { "409": "There are as many as there may be.", }
    /// A turn has the conversation.
    Busy { "409": "A turn runs in this conversation, or waits for consent.", }
    /// No turn begins.
    TurnRefused {
        "409": "A turn runs in this conversation or waits for consent, or there is nothing to go on with.",
        "422": "It breaks a rule, which `detail` names, or there is no such model.",
        "429": "One has reached a limit; `Retry-After` says when to ask again.",
    }
    /// A decision comes too late.
    AlreadyDecided {
        "409": "It is decided already, or the tool has changed since it was asked for.",
    }
    /// A tool is another one than was looked at.
    ToolChanged { "409": "Its definition has changed again, or no more tools of its server are remembered.", }
    /// Nobody is signed in.
    WrongPassword { "401": "The name or the password is wrong.", }
    /// Somebody may be guessing.
    TooManyAttempts { "429": "There were too many attempts; `Retry-After` says when to try again.", }
    /// A program gets no answer.
    ModelFailed {
        "429": "One has reached a limit; `Retry-After` says when to ask again.",
        "502": "The model's provider failed.",
        "504": "The answer took too long.",
    }
}
