//! The agent for programs that keep no history themselves: `POST /v1/chat` (`v1`), whole or as a stream of chunks of our own
//! (`chunk`), with content as blocks (`blocks`), and `POST /api/chat` (`simple`). A thread is a conversation, by its UUID; the turn is the same as the page's.

mod blocks;
mod chunk;
mod simple;
mod v1;
mod whole;

pub(in crate::http) use simple::create as create_simple;
pub(super) use v1::create;

use actix_web::HttpRequest;
use serde_json::value::RawValue;
use utoipa::OpenApi;
use uuid::Uuid;

use super::{
    super::{error::ApiError, state::AppState},
    begin,
    follow::Follower,
    refusal::Refusal,
    wire,
};
use crate::{
    accounts::Caller,
    conversation::{Chaining, GivenInput, ProgramRequest},
};

/// What the document of the API says of them.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(v1::create, simple::create))]
    struct Documented;
    Documented::openapi()
}

/// A question that begins a thread or goes on with one.
struct Asked {
    thread_id: Option<Uuid>,
    /// The model of the catalog; the default when absent.
    model: Option<String>,
    question: String,
    /// What is told in a thread that begins here.
    input: GivenInput,
}

/// Begins the turn that answers and follows it.
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
    begin::follow(state, request, user, |service| async move { service.begin_thread(new).await }).await
}

/// Reads a thread's id. What is no id names no thread.
fn thread_id(id: Option<String>) -> Result<Option<Uuid>, ApiError> {
    use crate::conversation::ServiceError::NotFound;
    id.filter(|id| !id.is_empty()).map(|id| id.parse().map_err(|_| NotFound.into())).transpose()
}

/// Reads a body, whose field that cannot be read is named.
fn read<'a, T: serde::Deserialize<'a>>(body: &'a RawValue) -> Result<T, Refusal> {
    wire::read_as(body.get(), "chat request")
}
