//! HTTP handler for `POST /v1/responses`.

use actix_web::{HttpRequest, HttpResponse, web::Json};
use serde_json::value::RawValue;
use tallybook_conversations::ServiceError;

use super::{
    super::{
        super::{
            answers::{ModelFailed, Unknown},
            error::ApiError,
            peer::Peer,
            places::StreamPlace,
            state::State,
        },
        begin::{Answering, begin},
        whole::WholeAnswer,
    },
    ask::{self, no_previous},
    body::{self, Head, ResponseBody},
    events::{Events, ResponseEvent},
    wire::ResponseRequest,
};
use crate::http::caller::Authenticated;

/// An answer, whole or as a stream, in the format of OpenAI Responses.
///
/// As with chat completions the tools run here, and the question and the answer are kept as a conversation.
#[utoipa::path(
    post, path = "/v1/responses", operation_id = "create_response", tag = "Programs", request_body = ResponseRequest,
    params(
        ("X-Tallybook-Conversation" = Option<String>, Header, max_length = 200,
            description = "The conversation to go on in, by its UUID or an id of the program's own; else a new one."),
    ),
    responses(
        (status = 200, description = "The answer. As a stream, events whose data say what they are.",
            content((ResponseBody<'static> = "application/json"), (ResponseEvent<'static> = "text/event-stream")),
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
    let (mut asked, repeated) = ask::read(body.get(), request.headers(), state.service.models())?;
    let begun = begin(&state, &caller, &request, &mut asked).await.map_err(|error| match error {
        ApiError::Service(ServiceError::NoSuchResponse) => {
            no_previous(repeated.previous_response_id.as_deref().unwrap_or_default()).into()
        }
        error => error,
    });
    let Answering { answer, id, created_at, conversation } = begun?;
    let head = Head { id, created: created_at.timestamp(), model: asked.name, repeated };
    let mut response = if asked.stream.is_some() {
        answer.stream(&state, peer, Events::new(head)).await?
    } else {
        let mut whole = WholeAnswer::default();
        let (finish, usage) = answer.collect(peer, &mut whole).await?;
        let state = body::State::Ended { finish, usage };
        let items = head.items(&whole.text, &whole.calls, state.item_status());
        HttpResponse::Ok().json(head.body(state, items))
    };
    Answering::name_conversation(conversation, &mut response);
    Ok(response)
}
