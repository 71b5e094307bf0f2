//! HTTP handler for `POST /v1/chat/completions`: a turn or a direct model call, streamed or as one response.

use actix_web::{HttpRequest, HttpResponse, web::Json};
use serde_json::value::RawValue;

use super::{
    super::{
        answers::{ModelFailed, Unknown},
        error::ApiError,
        peer::Peer,
        places::StreamPlace,
        state::State,
    },
    ask,
    begin::{Answering, begin},
    chunk::{Chunk, Chunks},
    whole::{Completion, WholeAnswer},
    wire::ChatRequest,
};
use crate::http::caller::Authenticated;

/// An answer, whole or as a stream, in the format of OpenAI Chat Completions.
///
/// The tools run here and are not shown as calls. The question and the answer are kept as a conversation.
#[utoipa::path(
    post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "Programs",
    request_body = ChatRequest,
    params(
        ("X-Tallybook-Conversation" = Option<String>, Header, max_length = 200,
            description = "The conversation to go on in, by its UUID or an id of the program's own; else a new one."),
        ("X-OpenWebUI-Chat-Id" = Option<String>, Header, max_length = 200, description = "The same, as Open WebUI says it."),
        ("X-Tallybook-Task" = Option<String>, Header, description = "Not empty: the model is asked once, and nothing is kept."),
        ("X-Tallybook-Tools" = Option<String>, Header, description = "`events`: the stream tells of the tools' calls."),
    ),
    responses(
        (status = 200, description = "The answer. As a stream, `data:` lines with chunks and, last, `[DONE]`.",
            content((Completion<'static> = "application/json"), (Chunk<'static> = "text/event-stream")),
            headers(("X-Tallybook-Conversation" = Uuid, description = "Where the answer is stored."))),
        Unknown, ModelFailed,
    ),
)]
pub(crate) async fn create(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _place: StreamPlace,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let mut asked = ask::read(body.get(), request.headers(), state.service.models())?;
    let Answering { answer, id, created_at, conversation } = begin(&state, &caller, &request, &mut asked).await?;
    let (id, created) = (format!("chatcmpl-{id}"), created_at.timestamp());
    let mut response = if let Some(wish) = asked.stream {
        answer.stream(&state, peer, Chunks::new(&id, created, &asked.name, wish)).await?
    } else {
        let mut whole = WholeAnswer::default();
        let (finish, usage) = answer.collect(peer, &mut whole).await?;
        HttpResponse::Ok().json(Completion::new(&id, created, &asked.name, &whole, finish, usage))
    };
    Answering::name_conversation(conversation, &mut response);
    Ok(response)
}
