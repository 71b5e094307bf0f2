//! HTTP handlers for the Responses API (<https://platform.openai.com/docs/api-reference/responses>): create, find,
//! delete.
//!
//! `request` and `items` parse a request. `body` and `events` write the answer. The turn itself runs as for chat
//! completions. A later request can name a stored response as its previous response.

mod body;
mod events;
mod items;
pub(crate) mod request;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Json, Path, Payload},
};
use serde::Serialize;
use tallybook_conversations::{ConversationService, ServiceError, StoredResponse};
use tallybook_protocol::MessageStatus;
use utoipa::{OpenApi, ToSchema};

use crate::http::{
    caller::Authenticated,
    connection_limits::StreamPermit,
    error::ApiError,
    openai::{
        attachments,
        chunk::WholeAnswer,
        follow::finish_of,
        responses::{
            body::{Head, ResponseBody},
            events::{Events, ResponseEvent},
            request::{Repeated, ResponseRequest, message_of, no_previous, parse_response_request},
        },
        run::{Answer, api_client_of, name_conversation},
    },
    peer::Peer,
    shared_responses::{ModelFailed, Unknown},
    state::State,
};

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(create, find, delete), components(schemas(items::InputItem)))]
    struct Documented;
    Documented::openapi()
}

/// Creates a response, streamed or not.
///
/// As for chat completions, Tallybook's tools run on the server, and the question and the answer are stored as a
/// conversation.
#[utoipa::path(
    post, path = "/v1/responses", operation_id = "create_response", tag = "Programs", request_body = ResponseRequest,
    params(
        ("X-Tallybook-Conversation" = Option<String>, Header, max_length = 200,
            description = "The conversation to continue, by its UUID or by an id of the client's own. Absent: a new one."),
    ),
    responses(
        (status = 200, description = "The answer. In a stream, the data of each event names the event's type.",
            content((ResponseBody<'static> = "application/json"), (ResponseEvent<'static> = "text/event-stream")),
            headers(("X-Tallybook-Conversation" = Uuid, description = "Conversation in which the answer is stored."))),
        Unknown, ModelFailed,
    ),
)]
pub(crate) async fn create(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _permit: StreamPermit,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let body = state.large_bodies.read(&request, payload).await?;
    let access = state.service.access_of(caller.user).await?;
    let (mut new, attachments, repeated, is_stream) =
        parse_response_request(body.json()?.get(), request.headers(), api_client_of(&caller), &access.models)?;
    attachments::store(&state, body, attachments, &mut new).await?;
    let answer = Answer::start(&state, &request, access, new).await.map_err(|error| match error {
        ApiError::Service(ServiceError::NoSuchResponse) => {
            no_previous(repeated.previous_response_id.as_deref().unwrap_or_default()).into()
        }
        error => error,
    })?;
    let conversation = answer.conversation();
    let head = Head { id: answer.id(), created: answer.created_at().timestamp(), repeated };
    let mut response = if is_stream {
        answer.stream(&state, peer, Events::new(head)).await?
    } else {
        let mut whole = WholeAnswer::default();
        let (finish, usage) = answer.collect(peer, &mut whole).await?;
        let state = body::State::Ended { finish, usage };
        let items = head.items(&whole.text, &whole.calls, state.item_status());
        HttpResponse::Ok().json(head.body(state, items))
    };
    name_conversation(conversation, &mut response);
    Ok(response)
}

/// Confirms that a response was deleted: later requests cannot continue from it.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseDeletion)]
pub(crate) struct Deletion {
    id: String,
    object: &'static str,
    deleted: bool,
}

/// Returns a stored response that later requests can continue from.
#[utoipa::path(
    get, path = "/v1/responses/{id}", operation_id = "find_response", tag = "Programs",
    responses((status = 200, body = ResponseBody<'static>)),
)]
pub(crate) async fn find(
    state: State,
    Authenticated(caller): Authenticated,
    id: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let (api_client, message_id) = (api_client_of(&caller), message_of(&id).ok_or(ServiceError::NoSuchResponse)?);
    let find = move |service: ConversationService| async move { service.find_response(api_client, message_id).await };
    let stored: StoredResponse = state.run(find).await?;
    let repeated = Repeated {
        model: stored.model.unwrap_or_default(),
        previous_response_id: stored.previous.map(|id| format!("{}{id}", request::ID_PREFIX)),
        store: true,
        ..Repeated::default()
    };
    let head = Head { id: message_id.to_string(), created: stored.created_at.timestamp(), repeated };
    let state = match (stored.status, &stored.error) {
        (MessageStatus::Streaming | MessageStatus::AwaitingApproval, _) => body::State::InProgress,
        (MessageStatus::Complete | MessageStatus::Stopped, _) => {
            let finish = finish_of(stored.stop_reason.as_deref().unwrap_or_default());
            body::State::Ended { finish, usage: stored.usage }
        }
        (_, Some((message, code))) => body::State::Failed { message, code },
        (_, None) => body::State::Failed { message: "The answer was interrupted.", code: "interrupted" },
    };
    let items = head.items(&stored.content, &stored.calls, state.item_status());
    Ok(HttpResponse::Ok().json(head.body(state, items)))
}

/// Deletes a stored response, so that no request can continue from it. Its conversation stays.
#[utoipa::path(
    delete, path = "/v1/responses/{id}", operation_id = "delete_response", tag = "Programs",
    responses((status = 200, body = Deletion)),
)]
pub(crate) async fn delete(
    state: State,
    Authenticated(caller): Authenticated,
    id: Path<String>,
) -> Result<Json<Deletion>, ApiError> {
    let (api_client, message_id) = (api_client_of(&caller), message_of(&id).ok_or(ServiceError::NoSuchResponse)?);
    let delete =
        move |service: ConversationService| async move { service.delete_response(api_client, message_id).await };
    state.run(delete).await?;
    Ok(Json(Deletion { id: id.into_inner(), object: "response", deleted: true }))
}
