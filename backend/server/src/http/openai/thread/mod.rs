//! The agent for clients that keep no history: `POST /v1/chat` (`v1`), and `POST /api/chat` (`simple`). `v1` answers with one
//! response, or with a stream of chunks in Tallybook's own format (`chunk`), and takes content as blocks (`blocks`). A thread
//! is a conversation, named by its UUID. Turns are the same as in the web UI.

mod blocks;
mod chunk;
mod simple;
mod v1;
mod whole;

pub(crate) use simple::create as create_simple;
pub(crate) use v1::create;

use actix_web::HttpRequest;
use serde_json::value::RawValue;
use tallybook_accounts::Caller;
use tallybook_conversations::{Chaining, GivenInput, ProgramRequest};
use utoipa::OpenApi;
use uuid::Uuid;

use super::{
    super::{error::ApiError, state::AppState},
    begin,
    follow::Follower,
    refusal::Refusal,
    wire,
};

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(v1::create, simple::create))]
    struct Documented;
    Documented::openapi()
}

/// A question in a new or an existing thread.
struct Asked {
    thread_id: Option<Uuid>,
    /// Name of the model in the catalog; `None` for the default model.
    model: Option<String>,
    question: String,
    /// The context of a thread that begins here.
    input: GivenInput,
}

/// Starts the turn that answers, and follows it.
async fn begin(state: &AppState, caller: &Caller, request: &HttpRequest, asked: Asked) -> Result<Follower, ApiError> {
    let Asked { thread_id, model, question, input } = asked;
    let user = caller.user;
    if let Some(uuid) = thread_id {
        let follow = begin::follow(state, request, user, move |service| async move {
            service.answer_in_thread(user, uuid, model.as_deref(), question).await
        });
        return follow.await;
    }
    let (program, chaining) = (begin::program_of(caller), Chaining::default());
    let new = ProgramRequest { program, chat_id: None, model, question, input, chaining };
    begin::follow(state, request, user, |service| async move { service.start_thread(new).await }).await
}

/// Parses a thread's id. Returns `None` if the id is absent, and `NotFound` if it is malformed.
fn thread_id(id: Option<String>) -> Result<Option<Uuid>, ApiError> {
    use tallybook_conversations::ServiceError::NotFound;
    id.filter(|id| !id.is_empty()).map(|id| id.parse().map_err(|_| NotFound.into())).transpose()
}

/// Parses a body. The error names the field that cannot be read.
fn read<'a, T: serde::Deserialize<'a>>(body: &'a RawValue) -> Result<T, Refusal> {
    wire::read_as(body.get(), "chat request")
}
